"""What fxls wrote once and has to read for ever: samples of each format, and their tests."""
