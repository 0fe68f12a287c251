"""What the rules derive: the language, the engines, kernels and their order, and why."""
