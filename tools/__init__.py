"""Programs for those who work on fxls: what `make` runs."""
