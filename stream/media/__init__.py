"""Pictures and sound of recordings: what is kept, what is changed, and through which door."""
