"""The Basic Encoding Rules of SNMP messages, as far as a test agent of v2c needs them (RFC 3417, section 8)."""

from __future__ import annotations

from typing import NamedTuple

from sanpath.transport.snmp.walk import Oid

INTEGER, OCTET_STRING, NULL, OBJECT_IDENTIFIER, SEQUENCE = 0x02, 0x04, 0x05, 0x06, 0x30
IP_ADDRESS, COUNTER32, GAUGE32, TIME_TICKS, OPAQUE, COUNTER64 = 0x40, 0x41, 0x42, 0x43, 0x44, 0x46
NO_SUCH_INSTANCE, END_OF_MIB_VIEW = 0x81, 0x82
GET, RESPONSE, GET_BULK = 0xA0, 0xA2, 0xA5


class Request(NamedTuple):
    """A v2c request. `first` and `second`: non-repeaters and max-repetitions of a GETBULK, 0 otherwise."""

    community: bytes
    kind: int
    number: bytes
    first: int
    second: int
    oids: list[Oid]


def coded(tag: int, content: bytes) -> bytes:
    """Tag, length, content."""
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + content


def coded_integer(tag: int, value: int) -> bytes:
    """INTEGER and what is coded like it, in the fewest octets."""
    return coded(tag, value.to_bytes((value + (value < 0)).bit_length() // 8 + 1, "big", signed=True))


def coded_oid(oid: Oid) -> bytes:
    """An object identifier."""
    content = bytearray()
    for number in (oid[0] * 40 + oid[1], *oid[2:]):
        septets = [number & 0x7F]
        while number := number >> 7:
            septets.append(number & 0x7F | 0x80)
        content += bytes(reversed(septets))
    return coded(OBJECT_IDENTIFIER, bytes(content))


def read_request(message: bytes) -> Request:
    """Raises IndexError for what is none."""
    _, body, _ = _part(message, 0)
    _, _version, at = _part(body, 0)
    _, community, at = _part(body, at)
    kind, pdu, _ = _part(body, at)
    _, number, at = _part(pdu, 0)
    _, first, at = _part(pdu, at)
    _, second, at = _part(pdu, at)
    _, bindings, _ = _part(pdu, at)
    oids, at = [], 0
    while at < len(bindings):
        _, binding, at = _part(bindings, at)
        oids.append(_oid(_part(binding, 0)[1]))
    return Request(community, kind, number, int.from_bytes(first, "big"), int.from_bytes(second, "big"), oids)


def response(request: Request, bindings: bytes, status: int = 0, index: int = 0) -> bytes:
    """The answer to a request, with variable bindings that are coded already."""
    head = coded(INTEGER, request.number) + coded_integer(INTEGER, status) + coded_integer(INTEGER, index)
    pdu = coded(RESPONSE, head + coded(SEQUENCE, bindings))
    return coded(SEQUENCE, coded_integer(INTEGER, 1) + coded(OCTET_STRING, request.community) + pdu)


def _part(data: bytes, at: int) -> tuple[int, bytes, int]:
    """Tag and content of what begins there, and where the next begins."""
    tag, size, at = data[at], data[at + 1], at + 2
    if size & 0x80:
        octets = size & 0x7F
        size, at = int.from_bytes(data[at : at + octets], "big"), at + octets
    return tag, data[at : at + size], at + size


def _oid(content: bytes) -> Oid:
    numbers, number = [], 0
    for octet in content:
        number = number << 7 | octet & 0x7F
        if not octet & 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return (first, numbers[0] - 40 * first, *numbers[1:])
