"""Trials of rules on many graphs: drawn at random, small ones exhaustively; what breaks is made small."""
