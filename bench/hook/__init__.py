"""What the edit path costs: the hook command, the owner's check, the first one of a cold owner."""
