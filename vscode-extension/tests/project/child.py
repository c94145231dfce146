"""A process that another one starts."""

print("child")
