"""What a graph is made of: nodes in order, their arguments, names, users and text.

What is legal is said here too, and how pickles hold a graph.
"""
