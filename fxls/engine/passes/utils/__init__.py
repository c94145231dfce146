"""What passes are made of: matching, lifting and fusing parts of graphs."""
