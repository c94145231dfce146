"""One short handler for each method of the protocol: decode, ask, encode."""
