"""Parses the output of `ss -tin` (iproute2) about TCP connections. No I/O.

Two lines a connection: queues and addresses, then the kernel's data about it (tcp_info). One of a host on Linux 6.12
to an NVMe target, broken here:

    0      145     10.214.1.10:41802    10.214.1.20:4420
         cubic wscale:7,7 rto:212 rtt:10.4/0.21 mss:1448 cwnd:42 bytes_sent:73311 bytes_retrans:144
         bytes_acked:73023 bytes_received:8401224 segs_out:3910 data_segs_out:1018 send 46782915bps
         delivery_rate 1104408bps busy:10604ms rwnd_limited:32ms(0.3%) unacked:1 retrans:0/2 rcv_space:144800
         notsent:72 minrtt:10.1 snd_wnd:131072
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

_ADDRESSES = re.compile(r"(?:[A-Z][A-Z0-9-]*+\s++)?(\d{1,10})\s++(\d{1,10})\s++(\S++)\s++(\S++)(.*)")
_NUMBER = r"(\d{1,20}(?:\.\d{1,9})?)"
_FIELD = re.compile(
    rf"(?<![\w:])(rtt|minrtt|mss|cwnd|bytes_sent|bytes_retrans|bytes_acked|bytes_received|segs_out|data_segs_out"
    rf"|dsack_dups|unacked|notsent|rcv_space|snd_wnd):{_NUMBER}(?![\d.])"
)
_MILLISECONDS = re.compile(rf"(?<![\w:])(busy|rwnd_limited|sndbuf_limited):{_NUMBER}ms")
_RETRANS = re.compile(r"(?<![\w:])retrans:\d{1,10}/(\d{1,20})(?!\d)")
_RATE = re.compile(rf"(?<![\w:])delivery_rate {_NUMBER}([KMGT]?)bps")
_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_ZONE = re.compile(r"%[^\]]*")


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection, seen from one of its ends.

    `local`, `remote`: address and port; addresses are canonical: an IPv4 address never has the form of an IPv6
    address. `fields`: by their names in ss; times are in milliseconds, `delivery_rate` in bits a second, `send_q` and
    `recv_q` are its first two columns. ss leaves out zeros, and what this kernel or this version lacks.
    """

    local: tuple[str, int]
    remote: tuple[str, int]
    fields: Mapping[str, float]


def connections(output: bytes) -> list[Connection]:
    """The connections in the output of `ss -tin`; those without a line of tcp_info are left out.

    >>> (one,) = connections(b"0 72 192.0.2.5:4000 [::ffff:192.0.2.9]:3260\\n\\t rtt:0.3/0.1 busy:9ms minrtt:0.2\\n")
    >>> one.local, one.remote
    (('192.0.2.5', 4000), ('192.0.2.9', 3260))
    >>> one.fields
    {'recv_q': 0.0, 'send_q': 72.0, 'rtt': 0.3, 'minrtt': 0.2, 'busy': 9.0}
    """
    found: list[Connection] = []
    current: tuple[tuple[str, int], tuple[str, int], dict[str, float]] | None = None
    for line in output.decode("ascii", "replace").splitlines():
        information = line
        if line[:1] not in (" ", "\t", ""):
            match = _ADDRESSES.match(line)
            ends = (end_point(match[3]), end_point(match[4])) if match else (None, None)
            if match is None or ends[0] is None or ends[1] is None:
                current = None
                continue
            current = ends[0], ends[1], {"recv_q": float(match[1]), "send_q": float(match[2])}
            information = match[5]
        fields = _fields(information) if current is not None else {}
        if current is not None and "rtt" in fields:
            found.append(Connection(current[0], current[1], current[2] | fields))
            current = None
    return found


def end_point(text: str) -> tuple[str, int] | None:
    """Address and port; None: not one with a number for both.

    >>> end_point("192.0.2.9%eth1:3260"), end_point("[fe80::9]%eth1:4420"), end_point("*:3260")
    (('192.0.2.9', 3260), ('fe80::9', 4420), None)
    """
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdecimal() and len(port) <= 5):
        return None
    address = canonical(_ZONE.sub("", host).strip("[]"))
    return (address, int(port)) if address is not None else None


def canonical(address: str) -> str | None:
    """An IP address in its usual form; None: not an IP address.

    >>> canonical("::ffff:192.0.2.9"), canonical("2001:DB8:0::9"), canonical("stor1")
    ('192.0.2.9', '2001:db8::9', None)
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return None
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return str(mapped or parsed)


def _fields(information: str) -> dict[str, float]:
    fields = {name: float(value) for name, value in _FIELD.findall(information)}
    fields |= {name: float(value) for name, value in _MILLISECONDS.findall(information)}
    if retransmitted := _RETRANS.search(information):
        fields["retrans"] = float(retransmitted[1])
    if rate := _RATE.search(information):
        fields["delivery_rate"] = float(rate[1]) * _UNITS[rate[2]]
    return fields
