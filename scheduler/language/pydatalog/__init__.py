"""Rules in pyDatalog's own spelling: read into the same rules as any other, and written back."""
