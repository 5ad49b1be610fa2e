"""Where faces are searched in a stream, and what is remembered of it."""
