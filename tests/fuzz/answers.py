"""A device whose recorded answers have one of them replaced: every collector that polls is asked over it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from random import Random
from typing import Any

import yaml

from sanpath import registry
from sanpath.plugin import (
    Collector,
    CommandReply,
    Cost,
    Http,
    HttpReply,
    Machine,
    Snmp,
    SnmpCredentials,
    SourceConfig,
    SshTarget,
)
from sanpath.transport.local_machine import NO_PROGRAM, LocalMachine
from sanpath.transport.snmp.walk import VarBind
from tests.collectors.test_cases import CASES, SteppedClock, load_config
from tests.fuzz.functions import coded, value
from tests.fuzz.loop import run, without_threads
from tests.fuzz.mutation import mutated
from tests.support.replay import ReplayContext, ReplayHttp, ReplaySnmp, read_snmprec

Place = tuple[str, str]
"""Case and answer: number of an entry of http.yaml, path of a file, command line, number of an object."""


MOST = 8
"""Answers of a device by whose number it is drawn."""
_COLLECTORS = Path(__file__).parents[1] / "collectors"


def cases(collector: str) -> list[Path]:
    """The recorded devices of a collector that answer at all."""
    return [case for case in CASES if case.parent.name == collector and (case / "replies").is_dir()]


@cache
def _http(case: Path) -> ReplayHttp | None:
    return ReplayHttp(case / "replies", Cost()) if (case / "replies/http.yaml").exists() else None


@cache
def _machine(case: Path) -> dict[str, bytes]:
    """Path of a file, or command line → content."""
    found = {}
    for root in sorted((case / "replies").glob("*.files")):
        for path in root.rglob("*"):
            if path.is_file():
                found[f"/{path.relative_to(root)}"] = path.read_bytes()
    for path in sorted((case / "replies").glob("*.commands.yaml")):
        for line, answer in (yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) or {}).items():
            found[line] = str(answer.get("output", "") if isinstance(answer, dict) else answer).encode()
    return found


@cache
def _agent(case: Path) -> list[VarBind]:
    """The first state of an agent."""
    files = sorted((case / "replies").glob("*.snmprec*"))
    return list(read_snmprec(files[0])) if files else []


def seeds(collector: str) -> list[bytes]:
    """Every answer of every device, behind a line that says whose it is."""
    found = []
    for case in cases(collector):
        server = _http(case)
        if server is not None:
            found += [_with_place(case, str(n), a.reply.body) for n, a in enumerate(server._answers)]
        found += [_with_place(case, place, content) for place, content in _machine(case).items()]
        found += [_with_place(case, str(n), coded(result)) for n, (_, result) in enumerate(_agent(case))]
    return found


def bodies(collector: str) -> list[bytes]:
    """Every answer of its recorded servers."""
    servers = [server for case in cases(collector) if (server := _http(case)) is not None]
    return [answer.reply.body for server in servers for answer in server._answers]


def drawn(random: Random, given: Sequence[bytes]) -> bytes:
    """One answer changed; of an agent's values some are of another type. A device with more than MOST answers is
    asked no more often than one with so many: its sessions take the longest, and its answers are much alike."""
    place, _, body = random.choice(given).partition(b"\n")
    while random.random() * _answers_of(place) >= MOST:
        place, _, body = random.choice(given).partition(b"\n")
    others = [random.choice(given).partition(b"\n")[2] for _ in range(3)]
    return place + b"\n" + mutated(random, [body, body, body, *others])


@cache
def _answers_of(head: bytes) -> int:
    """Of the device that the first line of an input names."""
    name, _place = json.loads(head)
    case = _COLLECTORS / name
    server = _http(case)
    return len(server._answers if server is not None else ()) + len(_machine(case)) + len(_agent(case))


def _with_place(case: Path, place: str, body: bytes) -> bytes:
    return json.dumps([f"{case.parent.name}/{case.name}", place]).encode() + b"\n" + body


@cache
def _collector(case: Path) -> tuple[type[Collector[SourceConfig]], SourceConfig]:
    config = load_config(case)
    return registry.collector_class(registry.spec(config.collector)), config


def taken(given: bytes) -> None:
    """Open, check, inventory and two polls over a device with this answer."""
    head, _, body = given.partition(b"\n")
    name, place = json.loads(head)
    case = _COLLECTORS / name
    with without_threads() if name.startswith("flasharray_rest1/") else nullcontext():
        run(_polled(case, place, body))


async def _polled(case: Path, place: str, body: bytes) -> None:
    kind, config = _collector(case)
    collector = kind(config)
    context = _Context(case, place, body)
    try:
        await collector.open(context)
        await collector.check(context)
        async for _ in collector.inventory(context):
            pass
        for _ in range(2):
            context.moving.us += round(config.every_seconds * 1e6)
            async for _ in collector.poll(context):
                pass
    finally:
        await collector.close()


class _Context(ReplayContext):
    def __init__(self, case: Path, place: str, body: bytes) -> None:
        self.moving = SteppedClock()
        super().__init__(self.moving, case / "replies")
        self._case, self._place, self._body = case, place, body

    def http(self, *_: Any, **__: Any) -> Http:
        recorded = _http(self._case)
        assert recorded is not None
        server = copy(recorded)
        server._cost = self.cost
        server._used = set()
        server._answers, at = recorded._answers.copy(), int(self._place)
        reply = server._answers[at].reply
        server._answers[at] = replace(server._answers[at], reply=HttpReply(reply.status, reply.headers, self._body))
        return server

    def snmp(self, credentials: SnmpCredentials) -> Snmp:  # noqa: ARG002 - whoever is asked, the case answers
        state = list(_agent(self._case))
        at = int(self._place)
        if state:
            state[at] = (state[at][0], value(self._body))
        return ReplaySnmp([state], self.moving, self.cost)

    def machine(self, ssh: SshTarget | None = None) -> Machine:  # noqa: ARG002 - whoever is asked, the case answers
        return _Machine(self.cost, self._case, {**_machine(self._case), self._place: self._body})


class _Machine(LocalMachine):
    """A machine with the files and answers of a case, of which some are others."""

    def __init__(self, cost: Cost, case: Path, contents: Mapping[str, bytes]) -> None:
        super().__init__(cost, ())
        self._case, self._contents = case, contents

    async def read(self, patterns: Sequence[str]) -> dict[str, bytes]:
        named = _named(self._case, tuple(patterns))
        return {path: content for path in named if (content := self._contents.get(path))}

    async def names(self, patterns: Sequence[str]) -> list[str]:
        return list(_named(self._case, tuple(patterns)))

    async def run(self, command: Sequence[str]) -> CommandReply:
        line = " ".join(command)
        if line not in self._contents:
            return CommandReply(NO_PROGRAM, b"", b"not recorded")
        return CommandReply(0, self._contents[line], b"")

    async def exchange(
        self,
        socket_path: str,
        request: bytes,  # noqa: ARG002 - the file has the answers to all requests
        is_complete: Callable[[bytes], bool],  # noqa: ARG002
        timeout_seconds: float,  # noqa: ARG002
    ) -> bytes:
        return self._contents.get(socket_path, b"")


@lru_cache(1 << 16)
def _named(case: Path, patterns: Sequence[str]) -> list[str]:
    """The files of a case, and the folders above them, that patterns name."""
    return sorted({path for pattern in patterns for path in _matching(case, pattern)})


@cache
def _matching(case: Path, pattern: str) -> list[str]:
    form = re.compile("[^/]*".join(map(re.escape, pattern.split("*"))))
    return [path for path in _paths(case) if form.fullmatch(path)]


@cache
def _paths(case: Path) -> set[str]:
    return {
        "/".join(parts[:n])
        for path in _machine(case)
        if path[:1] == "/" and (parts := path.split("/"))
        for n in range(2, len(parts) + 1)
    }
