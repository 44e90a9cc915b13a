"""How everything grows with the number of records."""
