"""pysnmp's UDP socket, deaf to whoever was never asked: pysnmp itself takes an answer from any address."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pysnmp.carrier.asyncio.dgram.udp import UdpAsyncioTransport

Address = tuple[str, int]


class AskedOnlyTransport(UdpAsyncioTransport):  # type: ignore[misc]  # pysnmp ships no types
    """Passes on what comes from addresses that were sent something.

    `strangers`: datagrams from others so far; `stranger`: the address of the last of them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._asked: set[Address] = set()
        self.strangers = 0
        self.stranger: Address | None = None

    def register_callback(self, cbFun: Callable[..., None]) -> None:  # noqa: N803 - pysnmp's names
        """What reads datagrams. One that it cannot read is as no answer: pyasn1 raises a TypeError for some, which
        would be written to the terminal as an error of the loop."""

        def read(*arguments: Any) -> None:
            with suppress(Exception):
                cbFun(*arguments)

        super().register_callback(read)

    def send_message(self, outgoingMessage: bytes, transportAddress: Any) -> None:  # noqa: N803 - pysnmp's names
        """Send, and listen to that address from now on."""
        self._asked.add(address(transportAddress))
        super().send_message(outgoingMessage, transportAddress)

    def datagram_received(self, datagram: bytes, transportAddress: Any) -> None:  # noqa: N803 - pysnmp's names
        """Hand over, or count."""
        if address(transportAddress) in self._asked:
            super().datagram_received(datagram, transportAddress)
        else:
            self.strangers += 1
            self.stranger = address(transportAddress)


def address(transport_address: Any) -> Address:
    """pysnmp's form of an address as a plain one."""
    host, port = transport_address[:2]
    return str(host), int(port)
