"""What the server holds between requests: connection, session, library, caches.

The server keeps state in this room alone.
"""
