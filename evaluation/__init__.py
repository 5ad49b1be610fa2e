"""The laboratory: methods, attacks, metrics, protocols and reports."""
