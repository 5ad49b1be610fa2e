"""From a file to frames: what it holds, its clock, its damage."""
