"""`braincore context`: what a prompt should bring along, within a token budget."""

import argparse

from braincore.cli.output import request

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore context 'change the retry policy of the payment client' --budget 400"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `context`."""
    parser.add_argument("prompt", help="what is about to be asked of an agent")
    parser.add_argument(
        "--budget", type=int, default=800, metavar="TOKENS", help="the most it may bring"
    )


def run(given: argparse.Namespace) -> int:
    """Run `context`; the exit code."""
    body = {"prompt": given.prompt, "budget": given.budget}
    return request(given, "context", body, lambda answer: str(answer["text"]))
