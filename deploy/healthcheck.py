"""Asks the service whether it lives; for containers, where no other client is installed."""

from __future__ import annotations

import http.client
import os
import ssl
import sys


def main() -> int:
    """0 where the service answers."""
    port = int(os.environ.get("KVEIL_LISTEN__PORT", "8080"))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=4)
    if os.environ.get("KVEIL_LISTEN__TLS_CERTIFICATE"):
        # The certificate names the public host, not loopback; only this machine is asked.
        context = ssl._create_unverified_context()  # noqa: S323, SLF001
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=4, context=context)
    try:
        connection.request("GET", "/healthz")
        return 0 if connection.getresponse().status == 200 else 1
    except OSError:
        return 1
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
