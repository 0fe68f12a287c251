"""Integer expressions: canonical form, division, comparison, text."""
