"""SNMP datagrams that no agent would send, from a UDP socket on 127.0.0.1 to the clients that sanpath asks with.

An input is the client and the request, then the datagrams that answer each of its requests; the right answer follows
them, so that a client which does not take them does not wait. MARK stands for the number of the request.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from random import Random
from typing import Any

from pydantic import SecretStr

from sanpath.errors import SanpathError
from sanpath.plugin import Cost, Snmp, SnmpCredentials, SnmpUser
from sanpath.transport.snmp.cached_rows import SilentError, UnclearError
from sanpath.transport.snmp.gufo import GufoClient
from sanpath.transport.snmp.session import PysnmpSession
from sanpath.transport.snmp.walk import parse_oid
from tests.fuzz.mutation import mutated
from tests.transport import ber
from tests.transport.recorded_agent import RecordedAgent, integer, text
from tests.transport.snmp_sessions import WallClock

os.environ["RUST_BACKTRACE"] = "0"  # of each a second, where a developer has set it
MARK = b"\x5a\x5a\x5a\x5a"
_BETWEEN = b"\n--\n"
_SECONDS, _SHORT_SECONDS = 60.0, 0.05
_COLUMNS = ["1.3.6.1.2.1.2.2.1.10", "1.3.6.1.2.1.2.2.1.2"]
_SCALARS = ["1.3.6.1.2.1.1.1.0", "1.3.6.1.2.1.1.2.0", "1.3.6.1.2.1.1.3.0", "1.3.6.1.2.1.1.9.0"]
_OBJECTS = [
    (_SCALARS[0], text(b"switch")),
    (_SCALARS[1], ber.coded_oid(parse_oid("1.3.6.1.4.1.9.12"))),
    (_SCALARS[2], integer(123_456, ber.TIME_TICKS)),
    *((f"{_COLUMNS[1]}.{n}", text(b"fc1/%d" % n)) for n in (1, 2, 3)),
    *((f"{_COLUMNS[0]}.{n}", integer(2**63 + n, ber.COUNTER64)) for n in (1, 2, 3)),
]
_ROWS = 4
"""That a request for columns asks for. pysnmp takes a third of a millisecond for each of them."""
_CLIENTS = ("pysnmp", "gufo", "v3")
_SHARES = (0.195, 0.8, 0.005)
"""Of the inputs: pysnmp takes ten times as long as gufo-snmp, and SNMPv3 a time-out for what is not taken."""
_REQUESTS = ("get", "columns")


def seeds() -> list[bytes]:
    """The right answers to every request of every client; of SNMPv3 a report."""
    agent = _agent()
    oids = {"get": [parse_oid(oid) for oid in _SCALARS], "columns": [parse_oid(oid) for oid in _COLUMNS]}
    kinds = {"get": ber.GET, "columns": ber.GET_BULK}
    found = []
    for client in _CLIENTS:
        for request in _REQUESTS:
            asked = ber.Request(b"public", kinds[request], MARK, 0, _ROWS * (request == "columns"), oids[request])
            bindings = b"".join(map(agent._instance, asked.oids)) if request == "get" else agent._bulk(asked)
            answer = _report() if client == "v3" else ber.response(asked, bindings)
            found.append(json.dumps([client, request]).encode() + b"\n" + answer)
    return found


def drawn(random: Random, given: Sequence[bytes]) -> bytes:
    """One to three answers, changed, of which one may come twice."""
    client = random.choices(_CLIENTS, _SHARES)[0].encode()
    head, _, body = random.choice([seed for seed in given if seed.startswith(b'["%s"' % client)]).partition(b"\n")
    others = [seed.partition(b"\n")[2] for seed in given]
    answers = [
        _lengthened(random, body) if random.random() < 0.3 else mutated(random, (body, body, random.choice(others)))
        for _ in range(random.choice((1, 1, 1, 2, 3)))
    ]
    if random.random() < 0.1:
        answers.append(answers[0])
    return head + b"\n" + _BETWEEN.join(answers)


def _lengthened(random: Random, body: bytes) -> bytes:
    """With one octet, as a tag or a length is, replaced by one that means much."""
    at = random.randrange(len(body))
    octets = random.choice(
        (b"\x80", b"\x84\xff\xff\xff\xff", b"\xff", b"\x00", b"\x7f", b"\x30", b"\x06", b"\x1f\xff")
    )
    return body[:at] + octets + body[at + random.randrange(3) :]


def taken(given: bytes) -> None:
    """One request, answered so."""
    head, _, body = given.partition(b"\n")
    client, request = json.loads(head)
    _scene().play(client, request, body.split(_BETWEEN))


@cache
def _scene() -> _Scene:
    return _Scene()


def _agent() -> RecordedAgent:
    return RecordedAgent(_OBJECTS)


class _Scene:
    """A loop with an agent and the clients in it, kept from input to input."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._errors: list[dict[str, Any]] = []
        self._loop.set_exception_handler(lambda _, context: self._errors.append(context))
        self._agent = _Agent(_agent())
        self._loop.run_until_complete(
            self._loop.create_datagram_endpoint(lambda: self._agent, local_addr=("127.0.0.1", 0))
        )
        self._clients: dict[str, Any] = {}

    def play(self, client: str, request: str, datagrams: Sequence[bytes]) -> None:
        """Raises what the client raises, or what reached the loop."""
        self._agent.datagrams = datagrams
        self._errors.clear()
        with _quiet(), suppress(SanpathError, SilentError, UnclearError):
            self._loop.run_until_complete(asyncio.wait_for(self._asked(client, request), _SECONDS))
        if self._errors:
            error = self._errors[0].get("exception")
            raise error if isinstance(error, Exception) else RuntimeError(self._errors[0]["message"])

    async def _asked(self, client: str, request: str) -> None:
        asked = self._client(client)
        try:
            if client == "gufo":
                await (asked.get(_SCALARS) if request == "get" else asked.values(_COLUMNS[1], 10, _ROWS))
            else:
                await (asked.get(_SCALARS) if request == "get" else asked.columns(_COLUMNS, _ROWS))
        finally:
            for _ in range(3):  # late answers arrive
                await asyncio.sleep(0)

    def _client(self, client: str) -> Any:
        if client not in self._clients:
            self._clients[client] = self._made(client)
        return self._clients[client]

    def _made(self, client: str) -> Snmp | GufoClient:
        if client == "gufo":
            return GufoClient(("127.0.0.1", self._agent.port), "public", _SHORT_SECONDS, 0, Cost())
        if client == "v3":
            user = SnmpUser("monitor", SecretStr("authpassword"), SecretStr("privpassword"))
            who = SnmpCredentials("127.0.0.1", self._agent.port, None, _SHORT_SECONDS, 0, user)
        else:
            who = SnmpCredentials("127.0.0.1", self._agent.port, SecretStr("public"), _SHORT_SECONDS, 0)
        return PysnmpSession(who, WallClock(), Cost())


@contextmanager
def _quiet() -> Iterator[None]:
    """gufo-snmp's Rust writes of its panics to the standard error, whoever catches them."""
    before, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(nowhere)


class _Agent(asyncio.DatagramProtocol):
    def __init__(self, right: RecordedAgent) -> None:
        self.datagrams: Sequence[bytes] = ()
        self.port = 0
        self._right = right

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self.port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, data: bytes, addr: Any) -> None:
        version = data[4] if data[2:4] == b"\x02\x01" else data[data.index(b"\x02\x01") + 2]
        number = _message_number(data) if version == 3 else ber.read_request(data).number
        for datagram in self.datagrams:
            self._transport.sendto(datagram.replace(MARK, number.rjust(4, b"\0"))[:65_000], addr)
        if version != 3:
            self._transport.sendto(self._right.answer(data), addr)


def _message_number(message: bytes) -> bytes:
    """Of SNMPv3: the first integer of the header (RFC 3412, section 6)."""
    _, body, _ = ber._part(message, 0)
    _, _, at = ber._part(body, 0)
    _, header, _ = ber._part(body, at)
    return ber._part(header, 0)[1]


def _report() -> bytes:
    """usmStatsUnknownEngineIDs, which tells the engine's id, boots and time (RFC 3414, section 4)."""
    engine = b"\x80\x00\x1f\x88\x04abcd"
    header = ber.coded(
        ber.SEQUENCE,
        ber.coded(ber.INTEGER, MARK)
        + ber.coded_integer(ber.INTEGER, 65_507)
        + ber.coded(ber.OCTET_STRING, b"\0")
        + ber.coded_integer(ber.INTEGER, 3),
    )
    numbers = ber.coded_integer(ber.INTEGER, 3) + ber.coded_integer(ber.INTEGER, 900)
    names = b"".join(ber.coded(ber.OCTET_STRING, part) for part in (b"", b"", b""))
    security = ber.coded(ber.SEQUENCE, ber.coded(ber.OCTET_STRING, engine) + numbers + names)
    counter = ber.coded_oid(parse_oid("1.3.6.1.6.3.15.1.1.4.0")) + integer(7, ber.COUNTER32)
    bindings = ber.coded(ber.SEQUENCE, ber.coded(ber.SEQUENCE, counter))
    pdu = ber.coded(0xA8, ber.coded(ber.INTEGER, MARK) + ber.coded_integer(ber.INTEGER, 0) * 2 + bindings)
    scoped = ber.coded(ber.SEQUENCE, ber.coded(ber.OCTET_STRING, engine) + ber.coded(ber.OCTET_STRING, b"") + pdu)
    return ber.coded(
        ber.SEQUENCE, ber.coded_integer(ber.INTEGER, 3) + header + ber.coded(ber.OCTET_STRING, security) + scoped
    )
