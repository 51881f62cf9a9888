"""Replay of recorded answers, so that a case folder can run a collector without its device.

A case's `replies` folder contains

    NAME.snmprec or NAME.snmprec.bz2   one state of the agent, `OID|TAG|VALUE` lines (the format of snmpsim);
                                       with several files, sorted by name, each `advance` moves to the next
    http.yaml                          the server's answers, in the order in which they are to be used
    NAME.files/proc/..., /sys/...      files of the machine; with several folders, sorted by name, each `advance`
                                       moves to the next, which contains only what differs from those before it
    NAME.commands.yaml                 answers of commands (see RecordedMachine), with states as those of the files

An entry of http.yaml: `request` ("GET /api/x"), and optionally `query` (parameters it must carry), `needs` (headers
it must carry, else 401), `status` (200), `headers`, and the body: `json` (any value), `text`, or `file` (a file
in the same folder). Of the matching answers, those with the most `query` parameters are used, one after the other;
the last one repeats.
"""

from __future__ import annotations

import bz2
import json
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import yaml

from sanpath.plugin import (
    ClientCertificate,
    Clock,
    CollectorError,
    CommandReply,
    Cost,
    Failure,
    Files,
    Http,
    HttpReply,
    Machine,
    Snmp,
    SnmpCredentials,
    SnmpValue,
    SshTarget,
)
from sanpath.transport.folder_files import FolderFiles
from sanpath.transport.local_machine import NO_PROGRAM, LocalMachine
from sanpath.transport.snmp.walk import Oid, VarBind, parse_oid, walk_columns

_INTEGER_TAGS = frozenset({"2", "65", "66", "67", "70"})  # INTEGER, Counter32, Gauge32, TimeTicks, Counter64
_NULL, _OBJECT_IDENTIFIER, _IP_ADDRESS = "5", "6", "64"


def read_snmprec(path: Path) -> list[VarBind]:
    """Read a .snmprec file, in file order and without comments."""
    raw = bz2.decompress(path.read_bytes()) if path.suffix == ".bz2" else path.read_bytes()
    return parse_snmprec(raw.decode("latin-1"))


def parse_snmprec(text: str) -> list[VarBind]:
    """Parse `OID|TAG|VALUE` lines; a tag that ends in "x" has a hexadecimal value. Raises ValueError.

    >>> parse_snmprec("1.3.6.1.2.1.2.2.1.6.7|4x|0a0b\\n1.3.6.1.2.1.2.2.1.8.7|2|1")[0][1]
    b'\\n\\x0b'
    """
    lines = (line for line in text.split("\n") if line.strip() and not line.startswith("#"))
    return [_binding(line) for line in lines]


def _binding(line: str) -> VarBind:
    parts = line.rstrip("\r").split("|", 2)
    if len(parts) != 3:
        raise ValueError(f"not OID|TAG|VALUE: {line[:80]!r}")
    return parse_oid(parts[0]), _recorded_value(parts[1], parts[2])


def _recorded_value(tag: str, value: str) -> SnmpValue:
    if tag in _INTEGER_TAGS:
        return int(value)
    if tag == _NULL:
        return None
    if tag == _OBJECT_IDENTIFIER:
        return value
    if tag == _IP_ADDRESS:
        return bytes(int(part) for part in value.split("."))
    return bytes.fromhex(value) if tag.endswith("x") else value.encode("latin-1")


class ReplaySnmp:
    """`plugin.Snmp` from recorded states. An empty state is an agent that does not answer.

    The recording is walked in file order: an agent that answered out of order, or in a loop, does so again.
    """

    def __init__(self, states: Sequence[Sequence[VarBind]], clock: Clock, cost: Cost) -> None:
        self._states, self._clock, self._cost = states, clock, cost
        self._state_number = -1
        self.advance()

    def advance(self) -> None:
        """Move to the next recorded state, if there is one."""
        self._state_number = min(self._state_number + 1, len(self._states) - 1)
        self._bindings = self._states[self._state_number]
        self._positions: dict[Oid, int] = {}
        for position, (oid, _) in enumerate(self._bindings):
            self._positions.setdefault(oid, position)
        # The next identifier follows the highest one so far, in whatever order they were recorded.
        self._highest = list(accumulate((oid for oid, _ in self._bindings), max))

    async def get(self, oids: Sequence[str]) -> dict[str, SnmpValue]:
        """Read recorded scalars; None where the recording has none."""
        self._ask()
        positions = {oid: self._positions.get(parse_oid(oid)) for oid in oids}
        return {oid: None if position is None else self._bindings[position][1] for oid, position in positions.items()}

    async def columns(
        self,
        oids: Sequence[str],
        max_rows: int = 20_000,
        alongside: str | None = None,
        row_per_pdu: bool = True,  # noqa: ARG002 - always so here
    ) -> dict[str, dict[str, SnmpValue]]:
        """Read columns by the same walk as over the network."""
        scalar = (await self.get([alongside]))[alongside] if alongside else None
        return await walk_columns(
            self._bulk, self._clock.now_us, oids, max_rows, (lambda: scalar) if alongside else None
        )

    async def close(self) -> None:
        """Do nothing: no socket is open."""

    async def _bulk(self, oids: Sequence[Oid], max_repetitions: int) -> Sequence[VarBind]:
        self._ask()
        answer: list[VarBind] = []
        for _ in range(max_repetitions):
            row = [self._next(oid) for oid in oids]
            answer += row
            oids = [oid for oid, _ in row]
        return answer

    def _next(self, oid: Oid) -> VarBind:
        position = self._positions.get(oid)
        if position is None:
            position = bisect_right(self._highest, oid) - 1
        return self._bindings[position + 1] if position + 1 < len(self._bindings) else (oid, None)

    def _ask(self) -> None:
        self._cost.requests += 1
        if not self._bindings:
            raise CollectorError(Failure.UNREACHABLE, "no SNMP answer is recorded")


@dataclass(frozen=True)
class _Answer:
    method: str
    path: str
    query: Mapping[str, str]
    needs: Mapping[str, str]
    reply: HttpReply


class ReplayHttp:
    """`plugin.Http` from the http.yaml of a folder. A request that is not recorded gets status 404."""

    def __init__(self, folder: Path, cost: Cost) -> None:
        entries = yaml.load((folder / "http.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
        self._answers = [_answer(folder, entry) for entry in entries]
        self._places: dict[tuple[str, str], list[int]] = {}
        for place, answer in enumerate(self._answers):
            self._places.setdefault((answer.method, answer.path), []).append(place)
        self._used: set[int] = set()
        self._cost = cost

    async def request(
        self,
        method: Literal["GET", "POST", "DELETE"],
        path: str,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,  # noqa: ARG002 - the protocol's signature; answers do not depend on it
    ) -> HttpReply:
        """Return the next recorded answer to this request."""
        self._cost.requests += 1
        answers, asked = self._answers, (params or {}).items()
        fitting = [place for place in self._places.get((method, path), ()) if answers[place].query.items() <= asked]
        if not fitting:
            return HttpReply(404, {}, b'{"errors": [{"message": "not recorded"}]}')
        if len(fitting) > 1:
            closest = max(len(answers[place].query) for place in fitting)
            fitting = [place for place in fitting if len(answers[place].query) == closest]
        place = next((place for place in fitting if place not in self._used), fitting[-1])
        answer = answers[place]
        if not answer.needs.items() <= (headers or {}).items():
            return HttpReply(401, {}, b'{"errors": [{"message": "header missing"}]}')
        self._used.add(place)
        self._cost.bytes_in += len(answer.reply.body)
        return answer.reply

    async def close(self) -> None:
        """Do nothing: no connection is open."""


def _answer(folder: Path, entry: Mapping[str, Any]) -> _Answer:
    method, _, path = entry["request"].partition(" ")
    if "json" in entry:
        body = json.dumps(entry["json"]).encode()
    elif "file" in entry:
        body = (folder / entry["file"]).read_bytes()
    else:
        body = entry.get("text", "").encode()
    headers = {name.lower(): str(value) for name, value in entry.get("headers", {}).items()}
    query = {name: str(value) for name, value in entry.get("query", {}).items()}
    needs = {name: str(value) for name, value in entry.get("needs", {}).items()}
    return _Answer(method, path, query, needs, HttpReply(entry.get("status", 200), headers, body))


class RecordedMachine(LocalMachine):
    """The machine of a case folder: `NAME.files` and `NAME.commands.yaml`, up to the current state of each.

    A file of commands maps a command line to its output, or to `output`, `errors` and `exit`. Later states replace
    earlier ones; a command that is in none of them counts as not installed. Bytes that are no text are `!!binary`.
    A socket is a file with what was read from it; an empty file is a program that does not answer.
    """

    def __init__(self, cost: Cost, folder: Path, states: Callable[[], int]) -> None:
        super().__init__(cost, ())
        self._folder, self._states = folder, states

    def _candidates(self, patterns: Sequence[str]) -> list[str]:
        self._roots = sorted(self._folder.glob("*.files"))[: self._states()]
        return super()._candidates(patterns)

    async def run(self, command: Sequence[str]) -> CommandReply:
        """Return the recorded answer."""
        self._cost.requests += 1
        answers: dict[str, Any] = {}
        for path in sorted(self._folder.glob("*.commands.yaml"))[: self._states()]:
            answers |= yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) or {}
        answer = answers.get(" ".join(command))
        if answer is None:
            return CommandReply(NO_PROGRAM, b"", b"not recorded")
        recorded: Mapping[str, Any] = answer if isinstance(answer, dict) else {"output": answer}
        streams = [recorded.get(stream, "") for stream in ("output", "errors")]
        output, errors = (s if isinstance(s, bytes) else str(s).encode() for s in streams)
        self._cost.bytes_in += len(output) + len(errors)
        return CommandReply(int(recorded.get("exit", 0)), output, errors)

    async def exchange(
        self,
        socket_path: str,
        request: bytes,  # noqa: ARG002 - the file has the answers to all requests
        is_complete: Callable[[bytes], bool],  # noqa: ARG002
        timeout_seconds: float,
    ) -> bytes:
        """Return what is recorded of the socket."""
        self._cost.requests += 1
        recorded = [path for path in self._candidates([socket_path]) if path == socket_path]
        files = [file for path in recorded for file in self._paths_in_roots(path) if file.exists()]
        if not files:
            raise CollectorError(Failure.UNREACHABLE, f"{socket_path}: No such file or directory")
        answer = files[0].read_bytes()
        if not answer:
            message = f"{socket_path}: gave no answer in {timeout_seconds:g} s; another client may be connected"
            raise CollectorError(Failure.UNREACHABLE, message)
        self._cost.bytes_in += len(answer)
        return answer


class ReplayContext:
    """`plugin.Context` whose devices are a folder of recorded answers."""

    def __init__(self, clock: Clock, folder: Path) -> None:
        self._clock, self._folder = clock, folder
        self.cost = Cost()
        self._agents: list[ReplaySnmp] = []
        self._file_states = 1

    @property
    def clock(self) -> Clock:
        """The clock of this context."""
        return self._clock

    def advance(self) -> None:
        """Move every agent, and the machine's files, to their next recorded state."""
        self._file_states += 1
        for agent in self._agents:
            agent.advance()

    def snmp(self, credentials: SnmpCredentials) -> Snmp:  # noqa: ARG002 - the folder answers for any address
        """Return the recorded agent."""
        files = sorted(self._folder.glob("*.snmprec*"))
        agent = ReplaySnmp([read_snmprec(path) for path in files] or [[]], self._clock, self.cost)
        self._agents.append(agent)
        return agent

    def http(
        self,
        base_url: str,  # noqa: ARG002
        ca_file: Path | None = None,  # noqa: ARG002
        verify_tls: bool = True,  # noqa: ARG002
        timeout_seconds: float = 5.0,  # noqa: ARG002
        pinned_certificate: Path | None = None,  # noqa: ARG002
        client: ClientCertificate | None = None,  # noqa: ARG002
    ) -> Http:
        """Return the recorded server."""
        return ReplayHttp(self._folder, self.cost)

    def machine(self, ssh: SshTarget | None = None) -> Machine:  # noqa: ARG002 - the folder answers for any address
        """Return the recorded machine; `advance` moves it to its next state."""
        return RecordedMachine(self.cost, self._folder, lambda: self._file_states)

    @property
    def files(self) -> Files:
        """The recorded files in their current state."""
        return FolderFiles(sorted(self._folder.glob("*.files"))[: self._file_states], self.cost)
