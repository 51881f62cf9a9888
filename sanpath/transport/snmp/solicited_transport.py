"""A UDP socket for pysnmp that ignores unsolicited datagrams: pysnmp itself accepts an answer from any address."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pysnmp.carrier.asyncio.dgram.udp import UdpAsyncioTransport

Address = tuple[str, int]


class SolicitedTransport(UdpAsyncioTransport):  # type: ignore[misc]  # pysnmp ships no types
    """Passes on only datagrams from addresses to which something was sent.

    `unsolicited_datagrams`: count of all other datagrams; `unsolicited_sender`: sender of the last of them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._destinations: set[Address] = set()
        self.unsolicited_datagrams = 0
        self.unsolicited_sender: Address | None = None

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
            self.unsolicited_datagrams += 1
            self.unsolicited_sender = plain_address(transportAddress)


def plain_address(transport_address: Any) -> Address:
    """Convert pysnmp's form of an address."""
    host, port = transport_address[:2]
    return str(host), int(port)
