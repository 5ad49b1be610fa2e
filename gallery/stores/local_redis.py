"""A throw-away Redis server on a Unix socket, for tests, benchmarks and rehearsals of failure."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Self

import redis

from gallery.errors import StoreUnavailable

__all__ = ["INSTALL", "LocalRedis"]

INSTALL = "apt-get install -y redis-server"


class LocalRedis:
    """Runs ``redis-server`` in a folder; a context manager.

    Args:
        folder: for the socket and, where it persists, the data; short, as sockets demand.
        *options: more of the server's options, such as ``--maxmemory``, ``2mb``.
        is_persistent: append each write to a file, flushed once a second, as servers do.

    Raises:
        StoreUnavailable: there is no ``redis-server``, or it does not start.
    """

    def __init__(self, folder: Path, *options: str, is_persistent: bool = False) -> None:
        self._folder = folder
        self._socket = folder / "redis.sock"
        self._options = ["--appendonly", "yes" if is_persistent else "no", *options]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    @property
    def url(self) -> str:
        """What clients connect to."""
        return f"unix://{self._socket}?db=0"

    def client(self) -> redis.Redis:
        """A plain client, to look at what the server holds."""
        return redis.Redis.from_url(self.url)

    def start(self) -> None:
        """Start the server and wait until it answers.

        Raises:
            StoreUnavailable: there is no ``redis-server``, or it does not start.
        """
        program = shutil.which("redis-server")
        if program is None:
            raise StoreUnavailable(f"there is no redis-server; install it: {INSTALL}")
        command = [program, "--port", "0", "--unixsocket", str(self._socket), "--save", ""]
        self._process = subprocess.Popen(  # noqa: S603 - the program is the one just found
            [*command, "--dir", str(self._folder), *self._options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said: list[str] = []
        for line in self._process.stdout or ():
            said.append(line)
            if "ready to accept connections" in line.lower():
                break
        else:
            self.kill()
            raise StoreUnavailable(f"redis-server does not start: {''.join(said[-3:])}")
        with self.client() as client:
            client.config_set("loglevel", "warning")  # nobody reads the pipe from here on

    def kill(self) -> None:
        """End the server at once, as a power cut would."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
