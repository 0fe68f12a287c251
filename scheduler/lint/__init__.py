"""Checks of whole rule sets that look further than one rule: what is superfluous, endless, dear, or contradictory."""
