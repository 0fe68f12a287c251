"""What each ONNX operation is in terms of graph nodes: one table of lowerings per kind of operation."""
