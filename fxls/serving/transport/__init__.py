"""The wire to one client: what pygls leaves out, reading ahead, a quick start."""
