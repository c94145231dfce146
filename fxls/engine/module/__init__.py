"""The text as a running module: compile hook, attributes, copies, errors."""
