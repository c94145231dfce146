"""How a user's program is started with the runtime, or joined by a debugger."""
