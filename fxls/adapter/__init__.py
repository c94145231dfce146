"""The debug adapter: it stands between an editor and debugpy's adapter."""
