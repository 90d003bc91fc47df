"""The append-only log: the only source of truth, on the `eventsourcing` library."""
