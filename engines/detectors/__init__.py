"""Face detectors, one file per output layout, behind one Protocol."""
