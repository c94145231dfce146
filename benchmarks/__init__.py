"""Benchmarks: each file says how it is run, and runs what it compares in turns."""
