"""Runs what Dynamo captured as Python does, in a process of its own, and compares both."""
