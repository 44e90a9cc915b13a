"""Derived from journal and working tree, and disposable: keywords, code, usage, row cache."""
