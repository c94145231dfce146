"""How what one step left is judged: its values, gradients, random numbers, what it saves, its code."""
