"""Where each node came from: noted while tracing, resolved to columns on demand.

Imports no other room but `lasting`.
"""
