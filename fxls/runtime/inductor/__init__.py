"""What inductor makes of a graph, and what it leaves out: code, kernels, times, fusions, costs."""
