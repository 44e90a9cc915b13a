"""MCP in the owner: tool calls in, verbs run, short results out. The relay is serve.mcp_stdio."""
