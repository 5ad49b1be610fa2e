"""Attackers, one per file; each says what he knows and finds his planted leak."""
