"""The values of captured graphs in a file, and how they agree with those of another place."""
