"""What came of looking for a fault, as values that cross from a program's process to the command line."""
