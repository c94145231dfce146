"""What a graph is made of: nodes in order, their arguments, names, users and text.

What is legal is said here too. Imports `origins` and no other room.
"""
