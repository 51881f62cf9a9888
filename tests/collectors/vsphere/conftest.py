"""A certificate authority, vCenters to ask, and govmomi's simulator where Go is at hand."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import ipaddress
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.collectors.vsphere.asking import Ask, Asked, Change, ask_all
from tests.collectors.vsphere.vcenter import Vcenter, serving

VCSIM = "github.com/vmware/govmomi/vcsim@v0.46.3"
"""The last version that `go install` can build."""
BUILD_SECONDS = 400
START_SECONDS = 15.0


class Authority:
    """A certificate authority with one server certificate for 127.0.0.1."""

    def __init__(self, folder: Path, name: str, days: int = 1) -> None:
        self.file, self.server_file = folder / f"{name}.pem", folder / f"{name}-server.pem"
        self.key_file, self.leaf_file = folder / f"{name}-key.pem", folder / f"{name}-leaf.pem"
        own, server = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        loopback = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        root = _certificate(subject, subject, own.public_key(), x509.BasicConstraints(True, None)).sign(
            own, hashes.SHA256()
        )
        called = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "vcenter")])
        leaf = _certificate(called, subject, server.public_key(), loopback, days).sign(own, hashes.SHA256())
        pem = serialization.Encoding.PEM
        form, secret = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        self.file.write_bytes(root.public_bytes(pem))
        self.key_file.write_bytes(server.private_bytes(pem, form, secret))
        self.leaf_file.write_bytes(leaf.public_bytes(pem))
        self.server_file.write_bytes(self.key_file.read_bytes() + self.leaf_file.read_bytes())


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    extension: x509.ExtensionType,
    days: int = 1,
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=10))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
    )


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"), "our-ca")


@dataclass(frozen=True)
class Simulator:
    """govmomi's simulator, with its certificate vouched for by `ca_file`. User and password are user and pass."""

    address: str
    ca_file: Path

    def ask(self, polls: int = 1, change: Change | None = None, **settings: object) -> Asked:
        """What a source of it says."""
        given = {"host": self.address, "ca_file": self.ca_file, "user": "user", "password": "pass"}
        return asyncio.run(ask_all({**given, **settings}, polls, change))


@pytest.fixture(scope="session")
def vcsim(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The simulator's program: SANPATH_VCSIM, one that was built before, or one that Go builds now."""
    if given := os.environ.get("SANPATH_VCSIM"):
        return Path(given)
    cache = getattr(pytestconfig, "cache", None)  # None: pytest was told to keep none.
    version = VCSIM.rpartition("@")[2]
    folder = Path(cache.mkdir(f"vcsim-{version}")) if cache is not None else tmp_path_factory.mktemp("vcsim")
    if not (folder / "vcsim").exists():
        if (go := shutil.which("go")) is None:
            pytest.skip("no Go to build govmomi's simulator with: set SANPATH_VCSIM to the program")
        built = subprocess.run(
            [go, "install", VCSIM],
            env={**os.environ, "GOBIN": str(folder), "GOFLAGS": "-p=1"},
            capture_output=True,
            text=True,
            timeout=BUILD_SECONDS,
            check=False,
        )
        if built.returncode != 0:
            pytest.skip(f"govmomi's simulator cannot be built: {built.stderr.strip()[-200:]}")
    return folder / "vcsim"


@pytest.fixture(scope="session")
def simulator(
    vcsim: Path, authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., contextlib.AbstractContextManager[Simulator]]:
    """Starts simulators with options of their own: a context manager that gives a `Simulator`."""

    @contextlib.contextmanager
    def start(*options: str) -> Iterator[Simulator]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        address = f"127.0.0.1:{port}"
        command = [str(vcsim), "-l", address, "-username", "user", "-password", "pass", "-api-version", "8.0.3.0"]
        command += ["-tlscert", str(authority.leaf_file), "-tlskey", str(authority.key_file), *options]
        folder = tmp_path_factory.mktemp("vcsim")  # it makes a folder where it is started
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                _await(port)
                yield Simulator(address, authority.file)
            finally:
                process.terminate()

    return start


def _await(port: int) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    pytest.fail("the simulator does not listen")


@pytest.fixture(scope="session")
def ask(authority: Authority) -> Ask:
    """Asks a vCenter made for the test: the collector runs against it over HTTPS, and what it said is returned.

    `change`: called before each poll with its number, from 1 on.
    """

    def run(
        vcenter: Vcenter, polls: int = 1, change: Change | None = None, inventories: int = 1, **settings: object
    ) -> Asked:
        async def served() -> Asked:
            async with serving(vcenter, authority.server_file) as address:
                given = {"host": address, "ca_file": authority.file, "user": "sanpath", "password": "right"}
                return await ask_all({**given, **settings}, polls, change, inventories)

        return asyncio.run(served())

    return run
