"""What `fxls compare` compares that is no program as it stands: entries, listings, other places."""
