"""Where the numbers of a compiled program go wrong: keeps its graphs and inputs, replays."""
