"""`fxls bisect` over runs of a program: under other settings, or of other commits."""
