"""One measure per file: what it means, its range and its interval."""
