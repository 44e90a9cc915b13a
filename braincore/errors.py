"""Every exception braincore raises.

    BraincoreError                      one message that says what to do next; CLI exit 1
    ├── NotARepository                  no git repository here
    ├── NotInitialised                  a repository without a brain
    ├── InvalidInput                    an argument or a file that can't be used as it is
    │   ├── CodecError                  a record file that can't be read
    │   └── UnknownReference            a symbol, path, record or commit that doesn't exist
    ├── StoreError                      the store can't be read or written (disk, permissions)
    ├── OwnerError                      the owner process can't be started or reached
    │   ├── OwnerBusy                   another owner holds the repository
    │   └── VersionMismatch             owner and client differ; the owner is draining
    └── GrammarMissing                  a language's grammar can't be loaded

Abstain, deny and conflict are results, not exceptions.
"""

from collections.abc import Sequence

__all__ = [
    "BraincoreError",
    "CodecError",
    "GrammarMissing",
    "InvalidInput",
    "NotARepository",
    "NotInitialised",
    "OwnerBusy",
    "OwnerError",
    "StoreError",
    "UnknownReference",
    "VersionMismatch",
]


class BraincoreError(Exception):
    """The root; `str(error)` is fit to show a person."""


class NotARepository(BraincoreError):
    """No git repository at or above `path`."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path} is not inside a git repository. Run `git init` there first, "
            "or point -C at a repository."
        )


class NotInitialised(BraincoreError):
    """The repository at `path` has no brain."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} has no brain yet. Run `braincore init` there.")


class InvalidInput(BraincoreError):
    """An argument that can't be used; `hint` says what would work."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(f"{what}. {hint}")


class CodecError(InvalidInput):
    """A record file that can't be read. `line` counts from 1."""

    def __init__(self, path: str, line: int, problem: str) -> None:
        super().__init__(f"{path}:{line}: {problem}", "Mend that line; the file was left as it is.")


class UnknownReference(InvalidInput):
    """A reference to something that doesn't exist, with the nearest names that do."""

    def __init__(self, what: str, name: str, near: Sequence[str] = ()) -> None:
        hint = f"Did you mean {', '.join(near)}?" if near else "Check the spelling."
        super().__init__(f"No {what} {name!r} exists", hint)


class StoreError(BraincoreError):
    """The store at `path` can't be read or written. `brief` is for a sentence that goes on."""

    def __init__(self, path: str, problem: str) -> None:
        self.brief = f"{path}: {problem}"
        super().__init__(
            f"The brain's store at {path} can't be used: {problem}. "
            "Check permissions and free space, then try again; nothing acknowledged was lost."
        )


class OwnerError(BraincoreError):
    """The owner process can't be started or reached."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"{problem}. `braincore doctor` shows what is wrong.")


class OwnerBusy(OwnerError):
    """Another owner process holds the repository."""

    def __init__(self, store: str, pid: int) -> None:
        super().__init__(f"Another owner (pid {pid}) already serves {store}")


class VersionMismatch(OwnerError):
    """The owner speaks another version; a newer client makes it drain and restart."""

    def __init__(self, owner: str, client: str) -> None:
        super().__init__(f"The owner runs version {owner}, this client {client}")


class GrammarMissing(BraincoreError):
    """The grammar of a language can't be loaded: an error, never zero symbols."""

    def __init__(self, language: str) -> None:
        super().__init__(
            f"The grammar for {language} can't be loaded. Reinstall braincore: "
            "`pip install --force-reinstall tree-sitter-language-pack==0.13.0`."
        )
