"""A source of the user's, and what its expressions became."""
