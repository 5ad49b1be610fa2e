"""Runtimes that execute a network, one file each, behind one Protocol."""
