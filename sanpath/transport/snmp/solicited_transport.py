"""A UDP socket for pysnmp that ignores unsolicited datagrams: pysnmp itself accepts an answer from any address."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pysnmp.carrier.asyncio.dgram.udp import UdpAsyncioTransport

Address = tuple[str, int]


class SolicitedTransport(UdpAsyncioTransport):  # type: ignore[misc]  # pysnmp ships no types
    """Passes on only datagrams from addresses to which something was sent.

    `unsolicited`: port of the sender → number of all other datagrams, and the sender of the last. A device that
    answers from another of its addresses still uses the requested port.
    """

    def __init__(self) -> None:
        super().__init__()
        self._destinations: set[Address] = set()
        self.unsolicited: dict[int, tuple[int, Address]] = {}

    def register_callback(self, cbFun: Callable[..., None]) -> None:  # noqa: N803 - pysnmp's names
        """Register pysnmp's reader of datagrams, and ignore datagrams that it cannot read.

        pyasn1 raises a TypeError for some, which asyncio would write to the terminal as an error of the loop.
        """

        def read(*arguments: Any) -> None:
            with suppress(Exception):
                cbFun(*arguments)

        super().register_callback(read)

    def send_message(self, outgoingMessage: bytes, transportAddress: Any) -> None:  # noqa: N803 - pysnmp's names
        """Send, and accept datagrams from that address from now on."""
        self._destinations.add(plain_address(transportAddress))
        super().send_message(outgoingMessage, transportAddress)

    def datagram_received(self, datagram: bytes, transportAddress: Any) -> None:  # noqa: N803 - pysnmp's names
        """Pass on a solicited datagram, count an unsolicited one."""
        if plain_address(transportAddress) in self._destinations:
            super().datagram_received(datagram, transportAddress)
        else:
            sender = plain_address(transportAddress)
            count, _ = self.unsolicited.get(sender[1], (0, sender))
            self.unsolicited[sender[1]] = (count + 1, sender)


def plain_address(transport_address: Any) -> Address:
    """Convert an address of pysnmp."""
    host, port = transport_address[:2]
    return str(host), int(port)
