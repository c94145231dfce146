"""What only a GPU shows; where there is none, nothing of it is collected."""
