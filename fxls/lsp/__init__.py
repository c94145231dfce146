"""Conversion between `ide` values and LSP types, and the requests of our own.

May import `ide` and lsprotocol; knows no connection, no session and no process.
"""
