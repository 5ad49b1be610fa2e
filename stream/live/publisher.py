"""A process that publishes encoded pictures to a server: `python -m stream.live.publisher`.

The media library connects and says goodbye with the interpreter's lock held, so a server
that does not answer would freeze every stream of the process. Here it freezes this process
alone, which its parent ends.

Standard input: one line of JSON (`url`, `format`, `options`, `metadata`), then pictures, each a
header (`pts` int64, key flag uint8, size uint32, little-endian) and its bytes. The address comes
this way because arguments and environment can be read by others on the machine. Standard
output: one line if it fails.
"""

from __future__ import annotations

import json
import struct
import sys
from typing import BinaryIO

import av
from av.container import OutputContainer

from stream.live.packet_muxer import PacketMuxer

__all__ = ["HEADER", "main", "publish"]

HEADER = struct.Struct("<qBI")
_LARGEST = 32 * 1024 * 1024


def publish(pipe: BinaryIO) -> None:
    """Publishes what comes through the pipe until it ends."""
    order = json.loads(pipe.readline(65536))

    def open_container() -> OutputContainer:
        container = av.open(
            order["url"], "w", format=order["format"], container_options=order["options"]
        )
        container.metadata.update(order["metadata"])
        return container

    muxer = PacketMuxer(open_container)
    while header := pipe.read(HEADER.size):
        pts, is_key, size = HEADER.unpack(header)
        if size > _LARGEST:
            message = "the picture is larger than any picture is"
            raise ValueError(message)
        muxer.write(pipe.read(size), pts, bool(is_key))
    muxer.close()


def main() -> int:
    """Entry of the process; 1 when publishing failed."""
    try:
        publish(sys.stdin.buffer)
    except Exception as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else ""
        sys.stdout.write((text or type(error).__name__).lower() + "\n")
        sys.stdout.flush()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
