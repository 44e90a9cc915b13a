"""The internal git: every change to records and edges is a commit first."""
