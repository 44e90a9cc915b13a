"""Rules: YAML files to values, values against texts, findings to a verdict (SPEC §8)."""
