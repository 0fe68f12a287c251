"""A run as a SQLite database, and questions to it."""
