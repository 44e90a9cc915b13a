"""What nearest neighbours cost, exact and from a graph."""
