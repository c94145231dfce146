"""What the answers about a listing are made of."""
