"""A process that publishes encoded pictures to a server: `python -m stream.live.publisher`.

The media library connects and says goodbye with the interpreter's lock held, so a server
that does not answer would freeze every stream of the process. Here it freezes this process
alone, which its parent ends.

Standard input: one line of JSON (`url`, `format`, `options`, `metadata`, `codec`, `has_sound`),
then each a header (time int64, kind uint8, size uint32, little-endian) and its bytes: kind 1 is a
key frame and 0 another picture, at a time in 1/90000 s; 2 is sound, at the place of its first
sample. The address comes this way because arguments and environment can be read by others on the
machine.
Standard output: one line if it fails.
"""

from __future__ import annotations

import json
import struct
import sys
from typing import BinaryIO

from stream.live.library_errors import reason_of
from stream.live.packet_muxer import PacketMuxer

__all__ = ["HEADER", "SOUND", "main", "publish"]

HEADER = struct.Struct("<qBI")
SOUND = 2
_LARGEST = 32 * 1024 * 1024


def publish(pipe: BinaryIO) -> None:
    """Publishes what comes through the pipe until it ends."""
    order = json.loads(pipe.readline(65536))
    where = (order["url"], order["format"], order["options"])
    muxer = PacketMuxer(*where, order["codec"], order["metadata"], has_sound=order["has_sound"])
    while header := pipe.read(HEADER.size):
        time, kind, size = HEADER.unpack(header)
        if size > _LARGEST:
            message = "the picture is larger than any picture is"
            raise ValueError(message)
        if kind == SOUND:
            muxer.write_sound(pipe.read(size), time)
        else:
            muxer.write(pipe.read(size), time, bool(kind))
    muxer.close()


def main() -> int:
    """Entry of the process; 1 when publishing failed."""
    try:
        publish(sys.stdin.buffer)
    except Exception as error:
        sys.stdout.write((reason_of(error) or type(error).__name__.lower()) + "\n")
        sys.stdout.flush()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
