"""The side of the worker that asks: starts its process, and never waits without a bound."""
