"""The rule language: text to a checked program."""
