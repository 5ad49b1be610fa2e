"""Experiments of the papers, redone on the data at hand, theirs beside ours."""
