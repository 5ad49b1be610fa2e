"""From composites to a file: encoders, tracks, containers, and names that appear when complete."""
