"""What the recorder lends a collector: a clock, and connections whose cost is booked to the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """What a poll cost the source. Filled in by the transports; the recorder adds the time."""

    requests: int = 0
    bytes_in: int = 0


SnmpValue = int | bytes | str | None
"""INTEGER, Counter, Gauge, TimeTicks → int; OCTET STRING → bytes; OBJECT IDENTIFIER → dotted str; noSuch… → None."""


@dataclass(frozen=True, slots=True)
class SnmpUser:
    """An SNMPv3 user with authentication and privacy (authPriv, RFC 3414).

    `key_extension`: which draft makes an AES key longer than the digest; told apart only by md5, sha1 and sha224 with
    aes256, and by md5 and sha1 with aes192. `context`: "" is the agent's default context.
    """

    name: str
    auth_password: SecretStr
    privacy_password: SecretStr
    auth_protocol: Literal["md5", "sha1", "sha224", "sha256", "sha384", "sha512"] = "sha256"
    privacy_protocol: Literal["aes128", "aes192", "aes256"] = "aes128"
    key_extension: Literal["blumenthal", "reeder"] = "blumenthal"
    context: str = ""


@dataclass(frozen=True, slots=True)
class SnmpCredentials:
    """How to ask an agent. `community`: by SNMP v2c; `user`: by SNMPv3. Exactly one of them is given."""

    host: str
    port: int
    community: SecretStr | None = None
    timeout_seconds: float = 2.0
    retries: int = 1
    user: SnmpUser | None = None


class Snmp(Protocol):
    """One SNMP agent. Raises CollectorError: UNREACHABLE on silence, UNREADABLE on nonsense."""

    async def get(self, oids: Sequence[str]) -> dict[str, SnmpValue]:
        """Scalars by full OID; None where the agent has no such object."""
        ...

    async def columns(
        self, oids: Sequence[str], max_rows: int = 20_000, beside: str | None = None, whole_rows: bool = True
    ) -> dict[str, dict[str, SnmpValue]]:
        """Conceptual columns of one table, asked together so that a row's values share a PDU.

        Returns {index suffix: {column oid: value}}; a column the agent lacks is absent from the rows. Each row also
        carries the key "seen": the clock in microseconds when the PDU with it arrived, and "beside": the value of the
        scalar `beside` in that same PDU, such as sysUpTime.0, the agent's own clock. Ends on a loop.

        `whole_rows` False, without `beside`: a row's values may also come from several PDUs, "seen" is when the last
        of them had arrived. Of what stands still the agent is then asked half as much.
        """
        ...

    async def close(self) -> None:
        """Free the socket."""
        ...


@dataclass(frozen=True, slots=True)
class HttpReply:
    """Status, headers (lower-case names) and body as they came."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """What a client proves itself with to a TLS server (mutual TLS). `certificate`: PEM, with those of the
    authorities between; `key`: PEM without a passphrase, None: it is in the same file."""

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
        """One request. Redirects are not followed: they would carry the token to another server."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class Files(Protocol):
    """The file system of the machine that sanpath runs on, for sources such as /proc and /sys.

    Reading blocks: a collector that uses it runs in a thread.
    """

    async def read(self, path: str) -> bytes | None:
        """A whole file by its absolute path; None where there is none, or none that this account can read."""
        ...

    async def list(self, path: str) -> list[str]:
        """The names in a folder, sorted; none where there is no such folder, or none that this account can read."""
        ...

    async def read_from(self, path: str, offset: int, limit: int) -> bytes | None:
        """At most `limit` bytes of a file from `offset` on, b"" at its end; None where it cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class SshTarget:
    """How to reach a machine over SSH. Its host key has to be known: it is never accepted unseen.

    `host` may be an alias of ~/.ssh/config, which also fills in `port` and `user` where they are None. `key_file`
    None: the keys of the user's agent and of ~/.ssh. `known_hosts` None: ~/.ssh/known_hosts and the system's.
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
    """What a command wrote, and its exit code."""

    exit_code: int
    output: bytes
    errors: bytes


class Machine(Protocol):
    """A Unix host: the one that sanpath runs on, or one over SSH. Each call is one round trip.

    Raises CollectorError: UNREACHABLE, REFUSED (wrong key or password), MISCONFIGURED (host key not known).
    """

    async def read(self, patterns: Sequence[str]) -> dict[str, bytes]:
        """Absolute path → content of every file that one of the patterns (*, ?, [...]) names and this account can
        read. What is not there, is empty, or answers with an error as some attributes of sysfs do, is left out.
        Raises UNREADABLE for a file larger than a mebibyte."""
        ...

    async def names(self, patterns: Sequence[str]) -> list[str]:
        """The absolute paths that there are of these patterns, sorted; what they are links to is not told."""
        ...

    async def run(self, command: Sequence[str]) -> CommandReply:
        """A command that only reads, with its messages in English. Exit code 127: there is no such program."""
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...


class Context(Protocol):
    """What the recorder lends a collector."""

    @property
    def clock(self) -> Clock:
        """The one clock of the recording."""
        ...

    def snmp(self, credentials: SnmpCredentials) -> Snmp:
        """An SNMP session; its cost is booked to this source."""
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
        """An HTTP session; its cost is booked to this source. `pinned_certificate`: PEM of the server's own
        certificate, the only one that is then accepted, whatever host name is in it. `client`: shown to a server that
        asks for a certificate."""
        ...

    def machine(self, ssh: SshTarget | None = None) -> Machine:
        """A host over SSH, None: the one that sanpath runs on; its cost is booked to this source."""
        ...

    @property
    def files(self) -> Files:
        """The file system of this machine; its cost is booked to this source, a request a file."""
        ...
