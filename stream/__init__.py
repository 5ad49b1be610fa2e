"""Time, I/O and wiring: sources, sinks, mailboxes, the pipeline, the service and the CLI."""
