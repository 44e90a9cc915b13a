"""`braincore status`: the brain in numbers."""

import argparse
from typing import Any

from braincore.cli.output import request

__all__ = ["EXAMPLE", "arguments", "run"]

EXAMPLE = "braincore status --json"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `status`."""
    del parser


def run(given: argparse.Namespace) -> int:
    """Run `status`; the exit code."""
    return request(given, "status", {}, _text)


def _text(body: dict[str, Any]) -> str:
    lines = {
        "repository": f"{body['root']} ({body['branch']})",
        "store": f"{body['store']}, {_size(body['sizes']['total'])}: {_sizes(body['sizes'])}",
        "owner": f"pid {body['pid']}, up {_time(body['uptime_seconds'])}, {body['rss_mb']} MB",
        "listens at": body["http"],
        "not listening": body["http_problem"],
        "records": f"{body['records']}: {_counts(body['kinds'])}",
        "lifecycle": _counts(body["lifecycle"]),
        "truth": _counts(body["truth"]),
        "freshness": _rate(body["freshness"], "of the records with code references"),
        "contradiction rate": _rate(body["contradiction_rate"], "of the records believed"),
        "abstain rate": _rate(body["abstain_rate"], f"of {body['recalls']} recalls"),
        "open tasks": body["open_tasks"],
        "code": f"{body['files']} files, {body['symbols']} symbols, "
        f"{body['files_with_syntax_errors']} files with a syntax error",
        "rules": body["rules"],
        "broken rules": "; ".join(body["rule_errors"]),
        "config.toml": body["config_problem"],
        "edited by hand": ", ".join(body["hand_edited"]),
        "journal": f"{body['journal_head']}, graph {body['projection_lag']} commits behind",
        "vectors": _vectors(body["vectors"]),
        "problem": body["problem"] or "none",
        "slow requests": ", ".join(
            f"{s['verb']} {s['seconds']:.1f} s at {s['at'][:19]}" for s in body["slow"]
        ),
        "versions": _counts(body["versions"]),
        "you are": body["channel"],
    }
    return "\n".join(
        f"{name:20}{value}" for name, value in lines.items() if value not in ("", None)
    )


def _counts(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items()) or "none"


def _rate(share: float | None, what: str) -> str:
    return "nothing to count yet" if share is None else f"{share:.1%} {what}"


def _sizes(sizes: dict[str, int]) -> str:
    return ", ".join(f"{k} {_size(v)}" for k, v in sizes.items() if k != "total")


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def _time(seconds: float) -> str:
    for unit, most in (("s", 120), ("min", 120), ("h", 48)):
        if seconds < most:
            return f"{seconds:.0f} {unit}"
        seconds /= 60 if unit != "h" else 24
    return f"{seconds:.0f} days"


def _vectors(told: dict[str, Any]) -> str:
    if told["embedder"] == "none":
        return "off"
    weights = f" ({told['weights'][:12]}…)" if told["weights"] else ""
    name = (told["model"] or f"{told['embedder']}, not loaded yet") + weights
    return f"{told['vectors']} by {name}, {told['waiting']} to be made"
