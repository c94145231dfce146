"""`break_on`: the code of a listing with a check behind each statement."""
