"""A throw-away certificate by the command openssl, for an install without the library that makes one."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

_COMMAND = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
_VALID_DAYS = "1"


def server_context(ca_file: Path, address: str = "127.0.0.1") -> ssl.SSLContext:
    """Make a certificate that is its own authority; writes it to `ca_file` and returns a server's TLS context.

    The server's key touches the disk only for the moment in which ssl reads it, with mode 0600 beside `ca_file`.
    Raises OSError: there is no such command, or it failed.
    """
    key = ca_file.with_name("server.key")
    key.touch(mode=0o600)
    subject = ("-days", _VALID_DAYS, "-subj", "/CN=sanpath lab", "-addext", f"subjectAltName=IP:{address}")
    command = [*_COMMAND, *subject, "-keyout", str(key), "-out", str(ca_file)]
    try:
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own command
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(ca_file, key)
    except subprocess.CalledProcessError as error:
        raise OSError(f"openssl failed: {error.stderr.decode(errors='replace').strip()[-200:]}") from error
    finally:
        key.unlink()
    return context
