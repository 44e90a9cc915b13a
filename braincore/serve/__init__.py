"""The owner process and what speaks through it: REST, hooks, the client settings they need."""
