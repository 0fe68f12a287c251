"""What views are made of: one view, movements, merging, indexing."""
