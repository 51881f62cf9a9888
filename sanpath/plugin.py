"""Everything a collector may import. API version 1; what is not here is private to sanpath.

A collector reads one kind of source. It never sleeps, retries, writes files, keeps rates or knows other sources:
the recorder owns the schedule, the deadline, retry and back-off, the threads and the recording. Its connections
come from the context (`ctx.snmp`, `ctx.http`, `ctx.files`), so that a case folder can replay them.

A folder `collectors/sanpath_collectors/<name>/` exports one object, COLLECTOR, from its `__init__.py`:

    COLLECTOR = Spec(name="snmp_if", title="Any switch over SNMP (IF-MIB)", config=SnmpIfConfig,
                     collector="sanpath_collectors.snmp_if.collector:SnmpIf", tables=(SWITCH_PORT, SWITCH))

Importing that module must not import a vendor's library: listing collectors has to stay cheap.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from sanpath.errors import CollectorError, Failure
from sanpath.model import Column, Event, Rows, Table, Thing, Tie

__all__ = [
    "API",
    "Check",
    "Clock",
    "Collector",
    "CollectorError",
    "Column",
    "Context",
    "Cost",
    "Event",
    "Failure",
    "Files",
    "Http",
    "HttpReply",
    "Item",
    "LoadReader",
    "Right",
    "Rows",
    "SecretStr",
    "Snmp",
    "SnmpCredentials",
    "SnmpUser",
    "SnmpValue",
    "SourceConfig",
    "Spec",
    "Table",
    "Thing",
    "Tie",
    "WrappedCommand",
]

API = 1


class SourceConfig(BaseModel):
    """Base of every collector's configuration: frozen, unknown keys refused, secrets are `SecretStr`.

    `sanpath init` writes required keys into its example, and optional ones commented out. An optional key with
    `examples` is written with the first of them: use it where one of several keys has to be given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, description="what people call the device; used in every name and report")
    collector: str = Field(description="which collector reads it")
    every_seconds: float = Field(default=10.0, gt=0, description="seconds between polls")
    timeout_seconds: float | None = Field(
        default=None, gt=0, description="budget of one poll; default 0.8 of every_seconds"
    )

    @property
    def budget_seconds(self) -> float:
        """How long one poll may take before the recorder ends it."""
        return self.timeout_seconds or 0.8 * self.every_seconds


Item = Rows | Thing | Tie | Event


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
        self, oids: Sequence[str], max_rows: int = 20_000, beside: str | None = None
    ) -> dict[str, dict[str, SnmpValue]]:
        """Conceptual columns of one table, asked together so that a row's values share a PDU.

        Returns {index suffix: {column oid: value}}; a column the agent lacks is absent from the rows. Each row also
        carries the key "seen": the clock in microseconds when the PDU with it arrived, and "beside": the value of the
        scalar `beside` in that same PDU, such as sysUpTime.0, the agent's own clock. Ends on a loop.
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
    ) -> Http:
        """An HTTP session; its cost is booked to this source."""
        ...

    @property
    def files(self) -> Files:
        """The file system of this machine; its cost is booked to this source, a request a file."""
        ...


@dataclass(frozen=True, slots=True)
class Check:
    """What a source says of itself when asked before a run.

    `identity`: model, name and version as the device gives them. `device_time`: its clock in microseconds, None if
    it has none. `unreadable`: what this account cannot read, with the consequence.
    """

    identity: str
    device_time: int | None = None
    unreadable: tuple[str, ...] = ()


C = TypeVar("C", bound=SourceConfig)


class Collector(ABC, Generic[C]):
    """One source during one run. Methods are called one at a time: open, inventory, poll…, close."""

    runs_in: ClassVar[Literal["loop", "thread"]] = "loop"
    """"thread": the SDK blocks; the recorder gives the source a daemon thread and a loop of its own."""

    def __init__(self, config: C) -> None:
        self.config = config

    async def open(self, ctx: Context) -> None:
        """Connect and log in. Raises CollectorError."""

    @abstractmethod
    async def check(self, ctx: Context) -> Check:
        """Identity, clock and rights, after `open`. Raises CollectorError."""

    @abstractmethod
    def inventory(self, ctx: Context) -> AsyncIterator[Thing | Tie]:
        """What there is and how it hangs together. Called after `open` and every few minutes."""

    @abstractmethod
    def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """One round. Yield as replies arrive: what was yielded before a deadline is kept."""

    async def close(self) -> None:
        """Log out. At most two seconds."""


@dataclass(frozen=True, slots=True)
class WrappedCommand:
    """A load command with the status output that its reader needs.

    `output_file`: where the generator writes by the user's own option; None: standard output. Resolved against
    the working directory of the command.
    """

    argv: tuple[str, ...]
    output_file: str | None = None


class LoadReader(ABC):
    """Reads the output of a load generator that the recorder started.

    The recorder keeps the output byte for byte in the recording and feeds what was added. One reader an execution.
    """

    @classmethod
    @abstractmethod
    def wrap(cls, argv: Sequence[str]) -> WrappedCommand:
        """Add the status output the reader needs beside what the user asked for. Raises UsageError."""

    @abstractmethod
    def feed(self, added: bytes, seen: int) -> Iterable[Item]:
        """Parse what the generator wrote since the last call. `seen`: the clock when it was read, microseconds."""

    @abstractmethod
    def finish(self, seen: int) -> Iterable[Item]:
        """The generator has ended: close what is still open."""

    @abstractmethod
    def passthrough(self) -> bytes:
        """What the generator wrote for people since the last call, without the status documents asked for here."""


@dataclass(frozen=True, slots=True)
class Right:
    """An access right on the device, and what stays unknown without it."""

    name: str
    why: str
    without: str


@dataclass(frozen=True, slots=True)
class Spec:
    """The one object a collector's folder exports, as COLLECTOR.

    `collector` and `load` are "module:Class", loaded when used. A collector that only wraps load commands has no
    `collector`; `commands` are the program names it recognises after `sanpath run --`.
    `cadence_seconds`: the source does not change faster (vSphere: 20).
    """

    name: str
    title: str
    tables: tuple[Table, ...]
    config: type[SourceConfig] | None = None
    collector: str | None = None
    load: str | None = None
    commands: tuple[str, ...] = ()
    cadence_seconds: float = 1.0
    rights: tuple[Right, ...] = ()
    requires: tuple[str, ...] = ()
    api: int = API
