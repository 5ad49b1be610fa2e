"""Clustering algorithms with explicit size constraints, one file each, behind one Protocol."""
