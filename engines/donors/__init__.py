"""Makes donors of portraits, and reads packs of them."""
