"""The demo: from a model file to a breakpoint in its generated code."""
