"""Fuzzes what parses bytes from outside, guided by coverage: `fuzz_parsers.py NAME SECONDS`.

Needs `atheris`, which is no dependency: install it into an environment of its own and let that
one find kveil's. NAME is one of `tests.fuzz.parsers.PARSERS`. The first input that raises what it
may not, or that takes five seconds or two gigabytes, ends the run and is written to a file.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path


def main() -> None:
    """Runs one parser until the time is over or something is found."""
    import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]

    sys.modules.pop("pickle", None)  # so that it is instrumented
    name, seconds = sys.argv[1], sys.argv[2]
    with atheris.instrument_imports(
        include=["config", "engines", "gallery", "stream", "tests.fuzz", "pickle", "yaml"],
        enable_loader_override=False,
    ):
        from tests.fuzz.parsers import PARSERS
    parser = PARSERS[name]
    with tempfile.TemporaryDirectory() as named:
        seeds, scratch = Path(named) / "seeds", Path(named) / "scratch"
        seeds.mkdir()
        scratch.mkdir()
        for number, seed in enumerate(parser.seeds):
            (seeds / str(number)).write_bytes(seed)

        def read(data: bytes) -> None:
            try:
                parser.read(data, scratch)
            except parser.refuses:
                return

        bounds = ["-timeout=5", "-rss_limit_mb=2048", "-max_len=4096", "-verbosity=0"]
        stem = f"-artifact_prefix=found-{name.replace(' ', '-')}-"
        arguments = [sys.argv[0], f"-max_total_time={seconds}", stem, *bounds]
        atheris.Setup([*arguments, str(seeds)], read)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
