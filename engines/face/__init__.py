"""A face as networks read it, and the face that is painted in its place."""
