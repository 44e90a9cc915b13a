"""Many sessions, hooks and commands on one repository at once, for minutes."""
