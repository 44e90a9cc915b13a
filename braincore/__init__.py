"""braincore: the memory of a code repository for the coding agents that work in it."""

TYPE_CHECKING = False  # as checkers know it; `typing` would cost half the start of Python

if TYPE_CHECKING:
    from braincore.api import Brain, open
    from braincore.errors import BraincoreError

__version__ = "0.1.0"

__all__ = ["Brain", "BraincoreError", "__version__", "open"]


def __getattr__(name: str) -> object:
    """The Python API, loaded at its first use: hooks and the command line must start fast."""
    if name == "BraincoreError":
        from braincore.errors import BraincoreError

        return BraincoreError
    if name in ("Brain", "open"):
        from braincore import api

        return getattr(api, name)
    raise AttributeError(f"module 'braincore' has no attribute {name!r}")
