"""From a question to ranked records: candidates → fuse → resolve → about → rank → explain."""
