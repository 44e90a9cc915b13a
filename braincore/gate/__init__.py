"""The right to abstain: strict mode, and the brain task that says what is missing."""
