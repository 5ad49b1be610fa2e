"""One scheduler per device runs the networks of all streams.

Those who ask wait for their own answer and no longer than their patience; see `scheduler`.
"""
