"""What the stdio MCP server costs until its first answers, and for each call."""
