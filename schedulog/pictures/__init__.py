"""Pictures of what was decided: a tensor graph, the simplified graph in its kernels, the kernels in their order."""
