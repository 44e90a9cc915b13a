"""What a durable write costs, and whether that grows with what is on record."""
