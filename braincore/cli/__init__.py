"""The command line: a thin client of the owner. Imports nothing heavy."""
