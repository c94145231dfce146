"""The record of this run: events are taken at any moment, and written by one thread."""
