"""Where people and clusters rest: memory or Redis, behind one Protocol."""
