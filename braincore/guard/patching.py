"""The commands that apply patches: `apply_patch`, `patch`, `git apply`."""

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass

from braincore.guard.overlay import Unseen
from braincore.guard.patch import apply_envelope, apply_unified
from braincore.guard.session import UNSURE, Outcome, Session, Stdin, Value

__all__ = ["apply_patch", "git_apply", "patch"]


@dataclass(frozen=True, slots=True)
class _How:
    """How a unified diff is applied; see `apply_unified`."""

    git_cwd: str | None = None
    strip: int = 1
    reverse: bool = False
    fuzz: int = 0
    only: str | None = None


def apply_patch(session: Session, argv: Sequence[Value], stdin: Stdin) -> Outcome:
    """`apply_patch`, with the patch as its argument or on standard input."""
    text = argv[1].text if len(argv) > 1 else stdin.take()
    return _patched(session, text, "apply_patch", None)


def _patched(session: Session, text: str | Unseen | None, name: str, how: _How | None) -> Outcome:
    """Apply a patch that a command was given; in its envelope without a `how`."""
    if not isinstance(text, str) or session.cwd is None:
        session.overlay.note(f"the patch that `{name}` applies is not known beforehand")
        return UNSURE
    if how is None:
        ok = apply_envelope(text, session.overlay, session.cwd)
    else:
        ok = apply_unified(
            text,
            session.overlay,
            session.cwd,
            git_cwd=how.git_cwd,
            strip=how.strip,
            reverse=how.reverse,
            fuzz=how.fuzz,
            only=how.only,
        )
    return Outcome(True if ok else None, "")


def _strip(words: Sequence[str], usual: int) -> int:
    for at, word in enumerate(words):
        following = words[at + 1] if word == "-p" and at + 1 < len(words) else ""
        found = re.fullmatch(r"(?:-p|--strip=)(\d{1,2})", word + following)
        if found:
            return int(found[1])
    return usual


def patch(session: Session, argv: Sequence[Value], stdin: Stdin) -> Outcome:
    """`patch`, with its usual options; one that is not understood makes the call unknown."""
    words = [value.text for value in argv]
    if "--dry-run" in words:
        return UNSURE
    text: str | Unseen | None = None
    operands: list[Value] = []
    folder = session.cwd
    at = 1
    given = False
    while at < len(words):
        word = words[at]
        value = argv[at + 1] if at + 1 < len(argv) else None
        if word in ("-i", "-d", "-p", "--input", "--directory") and value is not None:
            at += 1
            if word in ("-i", "--input"):
                text, given = session.content(value), True
            elif word != "-p":
                folder = session.path(value)
        elif word.startswith("--input="):
            text, given = session.content(Value(word[8:], argv[at].exact)), True
        elif re.match(r"-[oDrBYzF]|--(output|reject|ifdef)", word):
            session.overlay.note(f"`patch {word}` was not followed")
            return UNSURE
        elif not word.startswith("-"):
            operands.append(argv[at])
        at += 1
    if len(operands) > 1:
        text, given = session.content(operands[1]), True
    only = operands[0] if operands else None
    if only is not None and not only.exact:
        session.path(only)
        return UNSURE
    here = Session(session.overlay, folder)
    how = _How(
        strip=_strip(words, 1),
        reverse=_reverses(words),
        fuzz=2,
        only=None if only is None else only.text,
    )
    return _patched(here, text if given else stdin.take(), "patch", how)


def _reverses(words: Sequence[str]) -> bool:
    return "-R" in words or "--reverse" in words


def git_apply(session: Session, argv: Sequence[Value], stdin: Stdin) -> Outcome:
    """`git apply` and `git am`: the diffs they are given, from the repository's root."""
    words = [value.text for value in argv]
    if {"--check", "--stat", "--numstat", "--summary", "--cached"} & set(words):
        return UNSURE
    folder = next((word[12:] for word in words if word.startswith("--directory=")), "")
    if "--directory" in words[:-1]:
        folder = words[words.index("--directory") + 1]
    root = posixpath.join(session.overlay.root, folder)
    here = Session(session.overlay, root) if folder else session
    files = [
        value
        for value, before in zip(argv[1:], words, strict=False)
        if value.text == "-"
        or (not value.text.startswith("-") and before not in ("-p", "-C", "--directory"))
    ]
    ok: bool | None = True
    for file in files or [Value("-")]:
        text = stdin.take() if file.text == "-" else session.content(file)
        how = _How(git_cwd=root, strip=_strip(words, 1), reverse=_reverses(words))
        ok = ok and _patched(here, text, "git apply", how).ok
    return Outcome(ok, "")
