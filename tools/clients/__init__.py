"""Runs the tests of programs that use torch.fx on the engine: `make clients`."""
