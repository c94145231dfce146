"""Conversion between `ide` values and LSP types; the project's requests; settings.

May import `ide` and lsprotocol; knows no connection, no session and no process.
"""
