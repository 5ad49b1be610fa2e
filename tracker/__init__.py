"""State over time within one stream: motion, association, look-ahead smoothing, doubt."""
