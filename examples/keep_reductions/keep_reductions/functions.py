"""What the rules of keep-reductions ask of Python: values in, an int out, always the same for the same values."""


def depth(elements: int, results: int) -> int:
    """The levels of a balanced tree that folds `elements` values into `results` ones: 1 for two into one, 0 for none."""
    folded = elements // results if results else 0
    return max(0, folded - 1).bit_length()
