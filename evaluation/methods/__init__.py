"""Ways to anonymize face images, one per file, behind one Protocol."""
