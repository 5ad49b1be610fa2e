"""Live streams: network sources and sinks, the output that never ends, and its supervision."""
