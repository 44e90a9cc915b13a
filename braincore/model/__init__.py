"""The words: records, axes, outcomes, symbols, edits. Frozen values; imports nothing of ours but
the errors."""
