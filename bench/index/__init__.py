"""What the code index costs: a whole tree, the same tree again, one changed file."""
