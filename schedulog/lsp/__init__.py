"""The language server for rule files: diagnostics, hover, definitions, completion and formatting in any editor."""
