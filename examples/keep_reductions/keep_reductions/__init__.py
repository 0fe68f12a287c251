"""The rule pack keep-reductions: see pack.toml. Importing it does nothing."""
