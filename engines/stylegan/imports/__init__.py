"""Foreign generators: read from their files, described in plain arrays, written as ONNX."""
