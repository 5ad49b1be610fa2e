"""Streams that are closed, full or broken, and a terminal that hangs up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.unit, pytest.mark.timeout(60)]

ROOT = Path(__file__).resolve().parents[3]
BEGIN = """
import os, signal, sys
from stream.cli.exits import ending
from stream.cli.terminal import prepare_standard_streams, say
prepare_standard_streams()
"""


def run(script: str, words: str = "", before: str = "") -> subprocess.CompletedProcess[str]:
    """A script of our own under a shell, which closes or directs its streams."""
    command = f'{before}exec "$0" -c "$1" {words}'
    return subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, BEGIN + script],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )


def test_full_disk_under_stdout_is_told_in_one_line() -> None:
    done = run("with ending():\n print('x')\n sys.exit(0)", ">/dev/full")
    assert done.returncode == 4
    assert done.stderr == (
        "kveil: cannot write to stdout: the disk is full; free some space and run again\n"
    )


@pytest.mark.parametrize("words", ["2>/dev/full", "2>&-"])
def test_work_goes_on_where_stderr_takes_nothing(words: str, tmp_path: Path) -> None:
    script = f"with ending():\n say('progress')\n file = open('{tmp_path}/file', 'w')\n"
    script += " say('more'); print('done'); sys.exit(0)"
    done = run(script, words)
    assert (done.returncode, done.stdout) == (0, "done\n")


def test_library_that_talks_writes_into_no_file_of_ours(tmp_path: Path) -> None:
    script = f"file = open('{tmp_path}/file', 'w')\nos.write(2, b'a library talks')"
    assert run(script, "2>&-").returncode == 0
    assert (tmp_path / "file").read_bytes() == b""


def test_all_streams_closed_is_no_error(tmp_path: Path) -> None:
    script = f"with ending():\n open('{tmp_path}/file', 'w').write('x'); say('a'); print('b')\n"
    done = run(script + " sys.exit(0)", "<&- >&- 2>&-")
    assert done.returncode == 0
    assert (tmp_path / "file").read_text() == "x"


@pytest.mark.parametrize(("before", "status"), [("", 130), ("trap '' HUP; ", 0)])
def test_hangup_ends_like_termination_unless_it_is_ignored(before: str, status: int) -> None:
    script = "with ending():\n os.kill(os.getpid(), signal.SIGHUP); sys.exit(0)"
    done = run(script, before=before)
    assert done.returncode == status, done.stderr
    assert ("interrupted" in done.stderr) == bool(status)


def test_name_of_any_bytes_is_printed_escaped() -> None:
    done = run("name = os.fsdecode(b'\\xe9[red]\\x1b')\nprint(name); say(name)", before="LC_ALL=C ")
    assert done.returncode == 0
    assert "\\udce9[red]" in done.stdout
    assert done.stderr == "\\xe9[red]\\x1b\n"
