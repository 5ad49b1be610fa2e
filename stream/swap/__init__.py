"""Who wears which surrogate in a stream, and how each is followed and drawn."""
