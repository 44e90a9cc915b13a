"""What somebody says, on its way to being a record: redact → trust → validate → link."""
