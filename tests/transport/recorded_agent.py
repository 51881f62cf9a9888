"""An SNMP v2c agent on 127.0.0.1 that serves objects in the order in which it has them, and may misbehave."""

from __future__ import annotations

import bz2
import socket
import threading
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path

from sanpath.transport.snmp.walk import Oid, parse_oid
from tests.transport.ber import (
    COUNTER32,
    COUNTER64,
    END_OF_MIB_VIEW,
    GAUGE32,
    GET,
    GET_BULK,
    INTEGER,
    IP_ADDRESS,
    NO_SUCH_INSTANCE,
    NULL,
    OCTET_STRING,
    OPAQUE,
    SEQUENCE,
    TIME_TICKS,
    Request,
    coded,
    coded_integer,
    coded_oid,
    read_request,
    response,
)

COMMUNITY = "public"
TOO_BIG = 1
_INTEGERS = {
    "2": INTEGER,
    "65": COUNTER32,
    "66": GAUGE32,
    "67": TIME_TICKS,
    "70": COUNTER64,
}
_STRINGS = {"4": OCTET_STRING, "64": IP_ADDRESS, "68": OPAQUE}

Objects = Sequence[tuple[str, bytes]]
"""Dotted OIDs and their coded values."""

Answer = Callable[[bytes], Iterable[bytes]]
"""What an agent does with an answer before it is sent: pass it on, alter it, send others with it."""


def integer(value: int, tag: int = INTEGER) -> bytes:
    """The coded value of a number."""
    return coded_integer(tag, value)


def text(value: bytes) -> bytes:
    """The coded value of an OCTET STRING."""
    return coded(OCTET_STRING, value)


def read_recording(path: Path) -> Objects:
    """The objects of a .snmprec.bz2 in file order, their types kept."""
    lines = bz2.decompress(path.read_bytes()).decode("latin-1").split("\n")
    parts = (line.rstrip("\r").split("|", 2) for line in lines if line.strip() and not line.startswith("#"))
    return [(oid, _recorded(tag, value)) for oid, tag, value in parts]


def _recorded(tag: str, value: str) -> bytes:
    if tag in _INTEGERS:
        return coded_integer(_INTEGERS[tag], int(value))
    if tag == "5":
        return coded(NULL, b"")
    if tag == "6":
        return coded_oid(parse_oid(value))
    if tag == "64":
        return coded(IP_ADDRESS, socket.inet_aton(value))
    raw = bytes.fromhex(value) if tag.endswith("x") else value.encode("latin-1")
    return coded(_STRINGS[tag.removesuffix("x")], raw)


class RecordedAgent:
    """Answers in a thread of its own. `objects` may be exchanged between requests.

    `largest`: octets of an answer; a GETBULK is cut off, a GET is refused as tooBig. `answering` alters answers.
    `requests`: how many there were of each kind; `sent_bytes`: of all answers.
    """

    def __init__(self, objects: Objects, largest: int = 1_400) -> None:
        self.largest = largest
        self.requests: Counter[int] = Counter()
        self.sent_bytes = 0
        self.answering: Answer = lambda answer: [answer]
        self.serve(objects)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]

    def serve(self, objects: Objects) -> None:
        """These from now on."""
        coded_names = [(parse_oid(oid), value) for oid, value in objects]
        bindings = [(oid, coded(SEQUENCE, coded_oid(oid) + value)) for oid, value in coded_names]
        place: dict[Oid, int] = {}
        for number, (oid, _) in enumerate(bindings):
            place.setdefault(oid, number)
        # The first object in this order behind an OID is where the largest OID so far is first behind it.
        largest_so_far = list(accumulate((oid for oid, _ in bindings), max))
        self._tables = bindings, place, largest_so_far

    def run(self) -> None:
        """Until the socket is closed."""
        with suppress(OSError):
            while datagram := self._socket.recvfrom(65_535):
                message, client = datagram
                if not message:
                    return
                for answer in self.answering(self.answer(message)):
                    self.sent_bytes += len(answer)
                    self._socket.sendto(answer, client)

    def stop(self) -> None:
        """Ends `run`."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as waker:
            waker.sendto(b"", ("127.0.0.1", self.port))

    def close(self) -> None:
        """Free the socket."""
        self._socket.close()

    def answer(self, message: bytes) -> bytes:
        """One request, answered."""
        request = read_request(message)
        self.requests[request.kind] += 1
        if request.kind == GET_BULK:
            return response(request, self._bulk(request))
        if request.kind == GET:
            bindings = b"".join(map(self._instance, request.oids))
        else:
            bindings = b"".join(binding for _, binding in map(self._next, request.oids))
        if len(bindings) > self.largest:
            return response(request, b"", TOO_BIG)
        return response(request, bindings)

    def _bulk(self, request: Request) -> bytes:
        answer = [self._next(oid)[1] for oid in request.oids[: request.first]]
        repeated, size = request.oids[request.first :], 0
        for _ in range(request.second):
            row = [self._next(oid) for oid in repeated]
            repeated = [oid for oid, _ in row]
            for _, binding in row:
                size += len(binding)
                if size > self.largest and len(answer) >= len(request.oids):
                    return b"".join(answer)
                answer.append(binding)
        return b"".join(answer)

    def _instance(self, oid: Oid) -> bytes:
        bindings, place, _ = self._tables
        if oid in place:
            return bindings[place[oid]][1]
        return coded(SEQUENCE, coded_oid(oid) + coded(NO_SUCH_INSTANCE, b""))

    def _next(self, oid: Oid) -> tuple[Oid, bytes]:
        bindings, place, largest_so_far = self._tables
        following = place[oid] + 1 if oid in place else bisect_right(largest_so_far, oid)
        if following < len(bindings):
            return bindings[following]
        return oid, coded(SEQUENCE, coded_oid(oid) + coded(END_OF_MIB_VIEW, b""))


@contextmanager
def serving(objects: Objects, largest: int = 1_400) -> Iterator[RecordedAgent]:
    """An agent that is gone afterwards."""
    agent = RecordedAgent(objects, largest)
    thread = threading.Thread(target=agent.run, daemon=True)
    thread.start()
    try:
        yield agent
    finally:
        agent.stop()
        thread.join(5)
        agent.close()
