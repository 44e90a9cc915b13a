"""The desk of the end-to-end tests, for the faults that people report."""

from tests.e2e.conftest import brain, desk, owners, shared, slay, until

__all__ = ["brain", "desk", "owners", "shared", "slay", "until"]
