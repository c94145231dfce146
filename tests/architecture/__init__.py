"""The rules of docs/ARCHITECTURE.md that a program can check."""
