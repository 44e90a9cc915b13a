"""What importing many records costs."""
