"""`config.toml`: the numbers that SPEC.md marks as tunable, checked when read."""

import tomllib
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from braincore.errors import InvalidInput

__all__ = ["Config", "parse_config"]


@dataclass(frozen=True, slots=True)
class Config:
    """Settings with their defaults. Durations are in the unit of their name."""

    idle_minutes: float = 30.0
    fail_closed: bool = False
    fsync: bool = False
    max_file_bytes: int = 1 << 20
    context_tokens: int = 800
    http: str = ""
    embedder: str = "minilm"
    model: str = ""


EMBEDDERS = ("minilm", "sentence-transformers", "none")
_SECTIONS: dict[str, tuple[str, ...]] = {
    "owner": ("idle_minutes",),
    "hook": ("fail_closed", "context_tokens"),
    "journal": ("fsync",),
    "index": ("max_file_bytes",),
    "serve": ("http",),
    "recall": ("embedder", "model"),
}


def parse_config(text: str, path: str) -> Config:
    """The settings of a config file. Raises InvalidInput with the key or line that is wrong."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{path}: {error}", "Mend the file; see docs/operations.md.") from None
    given: dict[str, Any] = {}
    types = {f.name: type(f.default) for f in fields(Config)}
    for section, values in data.items():
        known = _SECTIONS.get(section)
        if known is None or not isinstance(values, dict):
            raise InvalidInput(
                f"{path}: no such section [{section}]", f"There are: {', '.join(_SECTIONS)}."
            )
        for key, value in values.items():
            if key not in known:
                near = get_close_matches(key, known, 1) or known
                raise InvalidInput(
                    f"{path}: no such key {key!r} in [{section}]", f"Did you mean {near[0]}?"
                )
            wanted = types[key]
            if wanted is float and isinstance(value, int) and not isinstance(value, bool):
                value = float(value)
            if type(value) is not wanted:
                raise InvalidInput(
                    f"{path}: [{section}] {key} = {value!r}", f"It takes a {wanted.__name__}."
                )
            if key == "embedder" and value not in EMBEDDERS:
                raise InvalidInput(
                    f"{path}: [{section}] {key} = {value!r}", f"Use one of {', '.join(EMBEDDERS)}."
                )
            given[key] = value
    return Config(**given)
