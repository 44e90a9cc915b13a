"""braincore: the memory of a code repository for the coding agents that work in it."""

__version__ = "0.1.0"

__all__ = ["__version__"]
