"""What a collector gets from the recorder: a clock, and connections whose cost is charged to the source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from pydantic import SecretStr


class Clock(Protocol):
    """The recorder's clock: wall time at start plus monotonic time since. Tests pass a fixed one."""

    def now_us(self) -> int:
        """Microseconds since the epoch."""
        ...


@dataclass(slots=True)
class Cost:
    """The cost of a poll to the source. The transports fill it in; the recorder adds the time."""

    requests: int = 0
    bytes_in: int = 0


SnmpValue = int | bytes | str | None
"""INTEGER, Counter, Gauge, TimeTicks → int; OCTET STRING → bytes; OBJECT IDENTIFIER → dotted str; noSuch… → None."""


@dataclass(frozen=True, slots=True)
class SnmpUser:
    """An SNMPv3 user (RFC 3414), with authentication and, if there is a `privacy_password`, privacy.

    `key_extension`: the draft that extends a digest to the length of an AES key. It matters only for md5, sha1 and
    sha224 with aes256, and for md5 and sha1 with aes192. `context`: "" is the agent's default context.
    """

    name: str
    auth_password: SecretStr
    privacy_password: SecretStr | None = None
    auth_protocol: Literal["md5", "sha1", "sha224", "sha256", "sha384", "sha512"] = "sha256"
    privacy_protocol: Literal["aes128", "aes192", "aes256"] = "aes128"
    key_extension: Literal["blumenthal", "reeder"] = "blumenthal"
    context: str = ""


@dataclass(frozen=True, slots=True)
class SnmpCredentials:
    """The address of an agent and the access to it: a `community` (SNMP v2c) or a `user` (SNMPv3), never both."""

    host: str
    port: int
    community: SecretStr | None = None
    timeout_seconds: float = 2.0
    retries: int = 1
    user: SnmpUser | None = None


class Snmp(Protocol):
    """One SNMP agent. Raises CollectorError: UNREACHABLE without an answer, UNREADABLE for a malformed one."""

    async def get(self, oids: Sequence[str]) -> dict[str, SnmpValue]:
        """Read scalars by full OID; None if the agent has no such object."""
        ...

    async def columns(
        self, oids: Sequence[str], max_rows: int = 20_000, alongside: str | None = None, row_per_pdu: bool = True
    ) -> dict[str, dict[str, SnmpValue]]:
        """Read conceptual columns of one table, requested together so that the values of a row share a PDU.

        Returns {index suffix: {column oid: value}}; a column that the agent lacks is missing in the rows. Each row
        also has the key "seen", the clock in microseconds when its PDU arrived. With `alongside`, the OID of a
        scalar, each row has the key "alongside": the value of that scalar in the same PDU. This is meant for
        sysUpTime.0, the agent's clock. The walk ends if the agent's answers repeat.

        `row_per_pdu` False, without `alongside`: the values of a row may come from several PDUs, and "seen" is the
        arrival of the last. This halves the requests for values that do not change.
        """
        ...

    async def close(self) -> None:
        """Close the socket."""
        ...


@dataclass(frozen=True, slots=True)
class HttpReply:
    """Status, headers (lower-case names) and body, unchanged."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """The certificate of a client for mutual TLS.

    `certificate`: PEM, with the intermediate certificates. `key`: PEM without a passphrase; None: in the same file.
    """

    certificate: Path
    key: Path | None = None


class Http(Protocol):
    """One HTTPS server. Raises CollectorError: UNREACHABLE, or MISCONFIGURED when its certificate is not trusted."""

    async def request(
        self,
        method: Literal["GET", "POST", "DELETE"],
        path: str,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> HttpReply:
        """Send one request. Redirects are not followed: they would carry the token to another server."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class Files(Protocol):
    """The file system of the machine that sanpath runs on, for sources such as /proc and /sys.

    Reading blocks: a collector that uses it runs in a thread.
    """

    async def read(self, path: str) -> bytes | None:
        """Read a file by its absolute path. None: it does not exist, or this account cannot read it."""
        ...

    async def list(self, path: str) -> list[str]:
        """List the names in a folder, sorted. Empty: it does not exist, or this account cannot read it."""
        ...

    async def read_from(self, path: str, offset: int, limit: int) -> bytes | None:
        """Read at most `limit` bytes of a file from `offset` on; b"" at its end, None if it cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class SshTarget:
    """The address of a machine and the login to it over SSH. An unknown host key is never accepted.

    `host` may be an alias of ~/.ssh/config, which also fills in `port` and `user` if they are None. `key_file` None:
    the keys of the user's agent and of ~/.ssh. `known_hosts` None: ~/.ssh/known_hosts and the system's file.
    `timeout_seconds`: for logging in, and for each request.
    """

    host: str
    port: int | None = None
    user: str | None = None
    key_file: Path | None = None
    password: SecretStr | None = None
    known_hosts: Path | None = None
    timeout_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class CommandReply:
    """The exit code of a command, its standard output and its standard error."""

    exit_code: int
    output: bytes
    errors: bytes


class Machine(Protocol):
    """A Unix host: this machine, or one over SSH. Each call is one round trip.

    Raises CollectorError: UNREACHABLE, REFUSED (wrong key or password), MISCONFIGURED (unknown host key).
    """

    async def read(self, patterns: Sequence[str]) -> dict[str, bytes]:
        """Read every file that matches one of the patterns (*, ?, [...]) and is readable by this account.

        Returns {absolute path: content}. Missing and empty files are left out, and those that answer with an error as
        some attributes of sysfs do. Raises UNREADABLE for a file larger than a mebibyte.
        """
        ...

    async def names(self, patterns: Sequence[str]) -> list[str]:
        """List the existing absolute paths that match the patterns, sorted; symbolic links are not resolved."""
        ...

    async def run(self, command: Sequence[str]) -> CommandReply:
        """Run a command that only reads, with messages in English. Exit code 127: there is no such program."""
        ...

    async def exchange(
        self, socket_path: str, request: bytes, is_complete: Callable[[bytes], bool], timeout_seconds: float
    ) -> bytes:
        """Send a request to a Unix stream socket and return the whole answer.

        Reading ends when `is_complete` accepts the received bytes, or the program closes the connection. A program
        may serve one client at a time: the connection is closed immediately. Raises UNREACHABLE if nothing listens or
        the answer takes longer than `timeout_seconds`, REFUSED if this account may not connect, UNREADABLE for an
        answer of more than 16 MiB.
        """
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...


class Context(Protocol):
    """A collector's access to the recorder's clock and to its source."""

    @property
    def clock(self) -> Clock:
        """The clock of the recording."""
        ...

    def snmp(self, credentials: SnmpCredentials) -> Snmp:
        """Return an SNMP session; its cost is charged to this source."""
        ...

    def http(
        self,
        base_url: str,
        ca_file: Path | None = None,
        verify_tls: bool = True,
        timeout_seconds: float = 5.0,
        pinned_certificate: Path | None = None,
        client: ClientCertificate | None = None,
    ) -> Http:
        """Return an HTTP session; its cost is charged to this source.

        `pinned_certificate`: PEM of the server's certificate; no other is then accepted, and its host name is not
        checked. `client`: the certificate to present to a server that asks for one.
        """
        ...

    def machine(self, ssh: SshTarget | None = None) -> Machine:
        """Return a host over SSH, or this machine for None; its cost is charged to this source."""
        ...

    @property
    def files(self) -> Files:
        """The file system of this machine; each file costs this source one request."""
        ...
