"""What an agent's answer may become on its way: proxies that pass on something else than they were given."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable

from tests.faults.proxies import Address, UdpProxy
from tests.transport.ber import INTEGER, OCTET_STRING, RESPONSE, SEQUENCE, coded, coded_integer

Alteration = Callable[[bytes], Iterable[bytes]]
ELSEWHERE = "127.0.0.2"


def unaltered(answer: bytes) -> Iterable[bytes]:
    return [answer]


def truncated(answer: bytes) -> Iterable[bytes]:
    """Cut off in the middle."""
    return [answer[: len(answer) // 2]]


def damaged(answer: bytes) -> Iterable[bytes]:  # noqa: ARG001 - the signature of an alteration
    """With a variable binding that is empty: gufo-snmp panics over it."""
    numbers = coded_integer(INTEGER, 1) + 2 * coded_integer(INTEGER, 0)
    pdu = coded(RESPONSE, numbers + coded(SEQUENCE, coded(SEQUENCE, b"")))
    return [coded(SEQUENCE, coded_integer(INTEGER, 1) + coded(OCTET_STRING, b"public") + pdu)]


def of_another_request(answer: bytes) -> Iterable[bytes]:
    """With the id of a request that was never made."""
    at = answer.index(b"public") + len(b"public")
    length = answer[at + 1]
    at += 2 + (length & 0x7F if length & 0x80 else 0)  # behind tag and length of the PDU
    number = slice(at + 2, at + 2 + answer[at + 1])
    return [answer[: number.start] + bytes(octet ^ 0x15 for octet in answer[number]) + answer[number.stop :]]


def endlessly(answer: bytes) -> Iterable[bytes]:
    """Answers to requests that were never made, one after the other."""
    return 50 * list(of_another_request(answer))


class AlteringProxy(UdpProxy):
    """For an SNMP agent. `alter` makes of an answer what is sent; `from_elsewhere`: from another address."""

    def __init__(self, device: Address) -> None:
        self.alter: Alteration = unaltered
        self.from_elsewhere = False
        super().__init__(device)
        self._elsewhere = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._elsewhere.bind((ELSEWHERE, self.address[1]))

    def answered(self, answer: bytes) -> None:
        for altered in self.alter(answer):
            if self.from_elsewhere and self._client is not None:
                self._elsewhere.sendto(altered, self._client)
            else:
                super().answered(altered)

    def close(self) -> None:
        super().close()
        self._elsewhere.close()
