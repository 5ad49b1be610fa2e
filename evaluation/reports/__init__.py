"""What an evaluation leaves behind: JSON for machines, one HTML page for people."""
