"""Whether the kernels of models of libraries lead to their lines, as torch says."""
