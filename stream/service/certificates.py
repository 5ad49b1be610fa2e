"""The certificate of the service, tried before anything is started."""

from __future__ import annotations

import ssl

from config.service import Listen
from stream.errors import UsageRefused

__all__ = ["check_tls"]


def check_tls(listen: Listen) -> None:
    """Tries the certificate and its key, if there are any.

    Raises:
        UsageRefused: they cannot be read, or do not belong together.
    """
    if not listen.tls_certificate:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
            listen.tls_certificate, listen.tls_key, password=lambda: ""
        )
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UsageRefused(
            f"listen.tls_certificate and listen.tls_key cannot be used ({reason}); give PEM files "
            "of a chain and its key without a passphrase"
        ) from None
