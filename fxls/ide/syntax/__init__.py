"""What Python source says by its syntax alone: classes, signatures, edits."""
