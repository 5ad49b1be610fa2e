"""The benchmarks: what kveil costs, beside other versions of it and other tools."""
