"""The state that shell commands work on: files, folder, and what flows between them."""

from dataclasses import dataclass

from braincore.guard.overlay import UNSEEN, Content, Overlay

__all__ = ["DONE", "FAILED", "UNSURE", "Outcome", "Session", "Stdin", "Value"]


@dataclass(frozen=True, slots=True)
class Value:
    """A word after expansion; not `exact`: the shell would make something else of it."""

    text: str
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ends and what it prints; None: not known beforehand."""

    ok: bool | None = None
    out: str | None = None


DONE = Outcome(True, "")
FAILED = Outcome(False, "")
UNSURE = Outcome(None, "")


@dataclass(slots=True)
class Stdin:
    """What a command can read; the first to read it gets it. None: not known beforehand."""

    text: str | None = ""

    def take(self) -> str | None:
        text, self.text = self.text, ""
        return text


class Session:
    """Files and the working folder; `cwd` is None once a `cd` went where nobody knows."""

    def __init__(self, overlay: Overlay, cwd: str | None) -> None:
        self.overlay = overlay
        self.cwd = cwd

    def path(self, value: Value) -> str | None:
        """The absolute path of a file that is written; None, with a note, if it isn't known."""
        if not value.exact:
            self.overlay.note(f"{value.text}: which file that is, only the shell knows")
            return None
        if self.cwd is None and not value.text.startswith("/"):
            self.overlay.note(f"{value.text}: the folder it is in is not known beforehand")
            return None
        return self.overlay.absolute(value.text, self.cwd or "/")

    def content(self, value: Value) -> Content:
        """The content of a file that is only read; no notes."""
        if not value.exact or not value.text or "\0" in value.text:
            return UNSEEN
        if self.cwd is None and not value.text.startswith("/"):
            return UNSEEN
        path = self.overlay.absolute(value.text, self.cwd or "/")
        return UNSEEN if path is None else self.overlay.read(path)

    def joined(self, values: list[Value], stdin: Stdin) -> Outcome:
        """What `cat` prints for these operands; standard input for none and for `-`."""
        parts: list[str] = []
        ok = True
        for value in values or [Value("-")]:
            content = stdin.take() if value.text in ("-", "/dev/stdin") else self.content(value)
            if content is None and value.text not in ("-", "/dev/stdin"):
                ok = False
            elif not isinstance(content, str):
                return Outcome(None, None)
            else:
                parts.append(content)
        text = "".join(parts)
        return Outcome(ok, text if self.overlay.afford(len(text)) else None)
