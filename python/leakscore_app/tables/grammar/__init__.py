"""What the cells of a column mean: numbers, marks, words, units, codes."""
