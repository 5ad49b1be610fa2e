from __future__ import annotations

import importlib.util
import ipaddress
import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from config.service import Listen, ServiceSettings
from stream.errors import UsageRefused
from stream.service.web_server import check_tls
from tests.stream.service.served import served
from tests.stream.service.service_bench import bearer, service_of, tokens, whip_stream

pytestmark = pytest.mark.unit
HEALTHCHECK = Path(__file__).resolve().parents[3] / "deploy" / "healthcheck.py"


def write_certificate(folder: Path) -> Listen:
    """A certificate for loopback, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kveil.test")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return Listen(port=0, tls_certificate=str(folder / "cert.pem"), tls_key=str(folder / "key.pem"))


def settings_with(listen: Listen) -> ServiceSettings:
    return ServiceSettings(listen=listen, access=tokens(), streams=(whip_stream(),))


def test_service_speaks_https_under_its_certificate_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_with(write_certificate(tmp_path))
    trusting = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    with served(service_of(settings), settings) as address:
        assert address.startswith("https://127.0.0.1:")
        with httpx.Client(verify=trusting, base_url=address) as client:
            assert client.get("/healthz").status_code == 200
            assert client.get("/api/v1/streams").status_code == 401
            assert client.get("/api/v1/streams", headers=bearer("viewer")).status_code == 200
        with pytest.raises(ssl.SSLCertVerificationError):
            version_spoken(address, ssl.create_default_context())
        with pytest.raises(httpx.TransportError):
            httpx.get(address.replace("https", "http") + "/healthz")
        assert version_spoken(address, ssl._create_unverified_context()) in ("TLSv1.2", "TLSv1.3")
        monkeypatch.setenv("KVEIL_LISTEN__PORT", address.rpartition(":")[2])
        monkeypatch.setenv("KVEIL_LISTEN__TLS_CERTIFICATE", str(tmp_path / "cert.pem"))
        assert healthcheck() == 0


def version_spoken(address: str, context: ssl.SSLContext) -> str | None:
    """What the service and a client settle on."""
    host, _, port = address.removeprefix("https://").partition(":")
    with (
        socket.create_connection((host, int(port)), 5.0) as plain,
        context.wrap_socket(plain, server_hostname=host) as secured,
    ):
        return secured.version()


def healthcheck() -> int:
    spec = importlib.util.spec_from_file_location("healthcheck", HEALTHCHECK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    status: int = module.main()
    return status


def test_certificate_that_cannot_be_used_is_told_in_one_line(tmp_path: Path) -> None:
    good = write_certificate(tmp_path)
    (tmp_path / "broken.pem").write_text("no certificate\n")
    for changed in ("missing.pem", "broken.pem"):
        listen = good.model_copy(update={"tls_certificate": str(tmp_path / changed)})
        with pytest.raises(UsageRefused, match=r"listen\.tls_certificate"):
            check_tls(listen)
    check_tls(good)
    check_tls(Listen())
