"""Runs over files: what becomes of which, how far it is, and its report."""
