"""Evaluating a checked program: one driver, three engines."""
