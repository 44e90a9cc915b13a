"""Commands that run another command: `sudo`, `env`, `xargs`, `find -exec` and their like."""

import re
from collections.abc import Sequence

from braincore.guard.session import Value

__all__ = ["wrapped"]

_DURATION = re.compile(r"\d+(\.\d+)?[smhd]?")

_WRAPPERS = {
    "sudo": "ugpChrtT",
    "doas": "uC",
    "env": "uCS",
    "nice": "n",
    "nohup": "",
    "command": "",
    "builtin": "",
    "exec": "a",
    "time": "fo",
    "timeout": "ks",
    "stdbuf": "ioe",
    "xargs": "IEdLnPsa",
}


def wrapped(name: str, argv: Sequence[Value]) -> Sequence[Value] | None:
    """The command that a command like `sudo` runs; None if `name` isn't such a command."""
    words = [value.text for value in argv]
    if name == "find":
        for at, word in enumerate(words):
            if word in ("-exec", "-execdir", "-ok"):
                return [v for v in _holes(argv[at + 1 :]) if v.text not in (";", "+")]
            if word == "-delete":
                return [Value("rm"), Value("what find finds", False)]
        return None
    if name not in _WRAPPERS:
        return None
    at = 1
    while at < len(words):
        word = words[at]
        if word.startswith("-") and len(word) > 1:
            at += 1 + (len(word) == 2 and word[1] in _WRAPPERS[name])
        elif (name in ("env", "sudo") and "=" in word) or (
            name == "timeout" and _DURATION.fullmatch(word)
        ):
            at += 1
        else:
            break
    return _holes(argv[at:]) if name == "xargs" else argv[at:]


def _holes(argv: Sequence[Value]) -> list[Value]:
    """The words with those that hold a `{}`, for a name to be put in, no longer exact."""
    return [Value(value.text, value.exact and "{}" not in value.text) for value in argv]
