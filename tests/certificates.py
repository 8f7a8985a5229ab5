"""Certificates that sign themselves, for servers of tests that speak TLS."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def self_signed(directory: Path, *, name: str = "IP:127.0.0.1", days: int = 30) -> ssl.SSLContext:
    """Make a certificate, `certificate.pem` in *directory*; give the context of a server that has it."""
    program = shutil.which("openssl") or pytest.skip("there is no openssl program")
    certificate, key = directory / "certificate.pem", directory / "key.pem"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", str(days)]
    whom = ["-subj", "/O=Watchful Corporation/CN=Proxy Root", "-addext", f"subjectAltName={name}"]
    command = [program, "req", "-x509", *curve, *whom, "-out", str(certificate), "-keyout", str(key)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
