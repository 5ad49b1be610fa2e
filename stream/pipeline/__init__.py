"""One stream from frames to composites: workers, mailboxes, networks, counts."""
