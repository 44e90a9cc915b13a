"""`braincore mcp`: the stdio MCP server, a thin client of the owner."""

import argparse
import os
import sys

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore mcp -C /path/to/repository"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `mcp`."""
    del parser


def run(given: argparse.Namespace) -> int:
    """Run `mcp`; it never returns."""
    command = [sys.executable, "-I", "-m", "braincore.serve.mcp_stdio", "--root", given.path]
    os.execv(sys.executable, command)
