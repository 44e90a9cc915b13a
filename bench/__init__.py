"""Benchmarks: one folder a question; `python -m bench.<name> [--data DIR] [--quick]` runs one."""
