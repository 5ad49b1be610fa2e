"""Networks as files: which there are, imported, tried, verified, built."""
