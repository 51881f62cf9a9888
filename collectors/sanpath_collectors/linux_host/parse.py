"""Parses files of /proc and /sys, and outputs of commands. No I/O.

A line of /proc/diskstats, major, minor, name and 17 fields, of a virtual disk on Linux 6.18:

    254 0 vda 2560142 8960 26394802 470900 451068 65443 31697336 189595 16 51664 661866 16726 59 1808824 1304 1740 65
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from sanpath.plugin import CollectorError, Failure

_MIN_FIELDS = 11  # Linux 2.6
_PARTITION_FIELDS = 4  # before 2.6.25 (Documentation/iostats.txt)
_TCP = {"tcp_segments_tx_total": "OutSegs", "tcp_retransmits_total": "RetransSegs"}
_VIRTUAL = re.compile(r"(loop|ram|zram|sr|fd)\d+")
# Possessive quantifiers avoid backtracking: the text after a long word is searched once, not once per character.
_GIGATRANSFERS = re.compile(r"(\d{1,3}(?:\.\d)?) GT/s")
_MAX_LANES = 32
"""Lanes of the widest PCI Express link."""
_ADDRESS = re.compile(r"\d++:\s++([^\s@]++)\S*+\s++inet6?\s++([0-9A-Fa-f.:]++)\S*+\s.*\bscope (global|site)\b")
_GIGABIT = re.compile(r"\b(\d{1,4}) Gbit")
_MAX_DIGITS = 20
"""Digits of the largest 64-bit counter. Python refuses to parse a number with thousands of digits."""


def diskstats(content: bytes) -> dict[str, list[int]]:
    """Device name → its fields, with index 0 for the first. Raises UNREADABLE with the line.

    Partitions that have only four fields are left out.

    >>> diskstats(b"8 0 sda 1 2 3 4 5 6 7 8 9 10 11")["sda"][8]
    9
    """
    fields_by_device = {}
    for line in content.decode("utf-8", "replace").splitlines():
        words = line.split()
        if len(words) == 3 + _PARTITION_FIELDS and words[2][-1:].isdecimal():
            continue
        if len(words) < 3 + _MIN_FIELDS or None in (fields := [number(word) for word in words[3:]]):
            raise CollectorError(Failure.UNREADABLE, "/proc/diskstats: not a name with 11 or more numbers", line)
        fields_by_device[words[2]] = [field for field in fields if field is not None]
    return fields_by_device


def storage_devices(names: Collection[str]) -> list[str]:
    """Devices except partitions, loop, RAM, floppy and CD devices. Names do not tell which loop devices contain data.

    >>> storage_devices(["sda", "sda1", "sdaa", "nvme0n1", "nvme0n1p2", "dm-1", "dm-10", "loop0", "xvda1"])
    ['sda', 'sdaa', 'nvme0n1', 'dm-1', 'dm-10', 'xvda1']
    """
    return [name for name in names if not _VIRTUAL.match(name) and disk_of(name, names) == name]


def disk_of(name: str, names: Collection[str]) -> str:
    """The disk of a partition; the device itself if it is not a partition.

    Names of partitions have a "p" before their number if the name of the disk ends with a digit.
    """
    match = re.fullmatch(r"(.*\d)p\d+|(.*\D)\d+", name)
    disk = (match[1] or match[2]) if match else name
    return disk if disk in names else name


def processor_times(content: bytes) -> dict[str, int | None] | None:
    """Columns of tables.HOST from /proc/stat; None if it was not read.

    Time in which a core waits for I/O is idle time; time stolen by a hypervisor is not. Neither is a core busy with
    niced processes, which give way to the load.

    >>> list(processor_times(b"cpu  60 2 13 150 7 0 4 1 9 0\\nintr 506 0 3\\nctxt 99\\n").values())
    [78, 237, 506, 99]
    """
    lines = {
        words[0]: words[1:] for line in content.splitlines() if (words := line.decode("ascii", "replace").split())
    }
    if "cpu" not in lines:
        return None
    busy, total = _busy_and_all(lines["cpu"])
    return {
        "cpu_busy_seconds_total": busy,
        "cpu_seconds_total": total,
        "interrupts_total": number((lines.get("intr") or [""])[0]),
        "context_switches_total": number((lines.get("ctxt") or [""])[0]),
    }


CoreTicks = tuple[int, int, int]
"""Ticks of a core since boot: busy, total, and serving interrupts."""


def core_times(content: bytes) -> dict[str, CoreTicks]:
    """Core → its ticks, from /proc/stat.

    >>> core_times(b"cpu  60 2 13 150 7 0 4 1 9 0\\ncpu0 20 0 5 60 5 0 4 1 0 0\\n")
    {'cpu0': (30, 95, 4)}
    """
    lines = re.findall(rb"^(cpu\d{1,5}) (.*)$", content, re.MULTILINE)
    words = {core.decode(): line.decode("ascii", "replace").split() for core, line in lines}
    return {
        core: (*_busy_and_all(ticks), sum(number(word) or 0 for word in ticks[5:7])) for core, ticks in words.items()
    }


def busiest_core(before: Mapping[str, CoreTicks], after: Mapping[str, CoreTicks]) -> dict[str, float | None]:
    """Metric → value of the busiest core between two polls: the busy share of its time, and the share of that spent
    on interrupts. None: no core existed at both polls, or interrupts are not counted separately.

    >>> busiest_core({"cpu0": (30, 95, 4), "cpu1": (0, 95, 0)}, {"cpu0": (120, 195, 49), "cpu1": (9, 195, 0)})
    {'cpu_busiest_core_ratio': 0.9, 'cpu_busiest_core_interrupt_ratio': 0.5}
    """
    ratios: dict[str, float | None] = {"cpu_busiest_core_ratio": None, "cpu_busiest_core_interrupt_ratio": None}
    spent = [
        tuple(now - then for now, then in zip(ticks, before[core], strict=True))
        for core, ticks in after.items()
        if core in before and ticks[1] > before[core][1]
    ]
    if spent:
        busy, total, interrupts = max(spent, key=lambda ticks: ticks[0] / ticks[1])
        # The time in which a core waits for I/O may decrease (man 5 proc).
        ratios["cpu_busiest_core_ratio"] = max(0.0, min(1.0, busy / total))
        # A kernel that charges interrupts to the interrupted process counts none.
        if busy > 0 and any(ticks[2] for ticks in after.values()):
            ratios["cpu_busiest_core_interrupt_ratio"] = max(0.0, min(1.0, interrupts / busy))
    return ratios


def _busy_and_all(words: Sequence[str]) -> tuple[int, int]:
    # user, nice, system, idle, iowait, irq, softirq, steal; user includes the time of guests
    ticks = [number(word) or 0 for word in words[:8]]
    return sum(ticks) - sum(ticks[1:2]) - sum(ticks[3:5]), sum(ticks)


def tcp_segments(content: bytes) -> dict[str, int | None]:
    """TCP segments of all connections from /proc/net/snmp; None for missing values.

    >>> list(tcp_segments(b"Ip: Forwarding\\nIp: 1\\nTcp: InSegs OutSegs RetransSegs\\nTcp: 90 80 3\\n").values())
    [80, 3]
    """
    lines = [line.split()[1:] for line in content.decode("ascii", "replace").splitlines() if line.startswith("Tcp:")]
    values = dict(zip(*lines, strict=False)) if len(lines) == 2 else {}
    return {metric: number(values.get(name, "")) for metric, name in _TCP.items()}


def memory_bytes(meminfo: bytes) -> int | None:
    """MemTotal of /proc/meminfo; None if it is missing.

    >>> memory_bytes(b"MemTotal:       16384256 kB\\nMemFree:         1021132 kB\\n")
    16777478144
    """
    match = re.search(rb"^MemTotal:[^\S\n]++(\d{1,15}) kB", meminfo, re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def cores(content: bytes) -> int | None:
    """Number of processors in /proc/stat; None if it was not read."""
    return len(re.findall(rb"^cpu\d+ ", content, re.MULTILINE)) or None


def boot_us(content: bytes) -> int | None:
    """Boot time from /proc/stat, microseconds since the epoch, truncated to a second; None: missing."""
    match = re.search(rb"^btime (\d{1,11})$", content, re.MULTILINE)
    return int(match[1]) * 1_000_000 if match else None


def uptime_us(content: bytes) -> int | None:
    """Time since boot from /proc/uptime in microseconds, with a resolution of 10 ms; None: malformed.

    >>> uptime_us(b"15324.07 20480.11\\n")
    15324070000
    """
    match = re.match(rb"(\d{1,11})\.(\d\d)\b", content)
    return int(match[1]) * 1_000_000 + int(match[2]) * 10_000 if match else None


def date_us(output: bytes) -> int | None:
    """Output of `date +%s.%N` in microseconds since the epoch; None: malformed.

    A `date` without support of %N reports full seconds.

    >>> date_us(b"1700000000.123456789\\n"), date_us(b"1700000000.%N\\n")
    (1700000000123456, 1700000000000000)
    """
    match = re.match(rb"(\d{9,11})(?:\.(\d{6}))?", output)
    return int(match[1]) * 1_000_000 + int(match[2] or 0) if match else None


def net_dev(content: bytes) -> dict[str, list[int]]:
    """Network interface → its fields in /proc/net/dev, with index 0 for the first.

    >>> net_dev(b"Inter-|   Receive\\n face |bytes\\n  eth0:12 3 0 1 0 0 0 0 45 6 0 0 0 0 0 0\\n")["eth0"][8]
    45
    """
    fields_by_interface = {}
    for line in content.decode("utf-8", "replace").splitlines():
        name, colon, counters = line.rpartition(":")
        words = counters.split()
        if colon and len(words) >= 16 and None not in (fields := [number(word) for word in words]):
            fields_by_interface[name.strip()] = [field for field in fields if field is not None]
    return fields_by_interface


def addresses(output: bytes) -> dict[str, list[str]]:
    """Network interface → its IP addresses, except link-local ones, from the output of `ip -o address`.

    >>> addresses(b"2: eth1    inet 192.0.2.5/24 brd 192.0.2.255 scope global eth1\\\\       valid_lft forever\\n")
    {'eth1': ['192.0.2.5']}
    """
    addresses_by_interface: dict[str, list[str]] = {}
    for line in output.decode("utf-8", "replace").splitlines():
        match = _ADDRESS.match(line)
        if match:
            addresses_by_interface.setdefault(match[1], []).append(match[2])
    return addresses_by_interface


def transport_address(content: str) -> dict[str, str]:
    """The parts of an NVMe controller's address.

    >>> transport_address("traddr=192.0.2.9,trsvcid=4420,src_addr=192.0.2.5")["src_addr"]
    '192.0.2.5'
    """
    return dict(re.findall(r"(?<!\w)(\w++)=([^,\s]++)", content))


def wwpn(content: str) -> str:
    """The port name at the end of a Fibre Channel address; "": there is none.

    >>> wwpn("0x21000024ff000001"), wwpn("nn-0x524a937000000000:pn-0x524a937000000001"), wwpn("192.0.2.9")
    ('21000024ff000001', '524a937000000001', '')
    """
    match = re.search(r"0x([0-9a-f]{16})$", content.lower())
    return match[1] if match else ""


def statistic(content: str) -> int | None:
    """A counter of a Fibre Channel port; None: malformed, or all bits set because the adapter does not count it.

    >>> statistic("0x1f"), statistic("0xffffffffffffffff"), statistic("")
    (31, None, None)
    """
    if not re.fullmatch(r"0x[0-9a-f]{1,16}", content) or content == "0xffffffffffffffff":
        return None
    return int(content, 16)


def identifiers(wwid: str) -> dict[str, tuple[str, ...]]:
    """Join keys from the identifier of a SCSI or NVMe device or a multipath map; empty if it has none.

    >>> identifiers("naa.624a93706c1b16ce1c034d1c00013918")
    {'naa': ('naa.624a93706c1b16ce1c034d1c00013918',)}
    >>> identifiers("mpath-3624a93706c1b16ce1c034d1c00013918")
    {'naa': ('naa.624a93706c1b16ce1c034d1c00013918',)}
    >>> identifiers("eui.006c1b16ce1c034d24a9371c00013918")
    {'eui': ('eui.006c1b16ce1c034d24a9371c00013918',)}
    >>> identifiers("t10.ATA     QEMU HARDDISK")
    {}
    """
    # SCSI identifiers of udev begin with their type: 2 is an EUI-64, 3 an NAA name (SPC-4, 7.8.6).
    identifier = re.sub(r"^3(?=[0-9a-f]+$)", "naa.", wwid.lower().removeprefix("mpath-"))
    identifier = re.sub(r"^2(?=[0-9a-f]+$)", "eui.", identifier)
    match = re.fullmatch(r"(naa|eui)\.(?:[0-9a-f]{16}|[0-9a-f]{32})", identifier)
    return {match[1]: (identifier,)} if match else {}


def scheduler(content: str) -> str:
    """The I/O scheduler in use, which is in brackets.

    >>> scheduler("none [mq-deadline] kyber bfq")
    'mq-deadline'
    """
    match = re.search(r"\[([^\[\]]++)\]", content)
    return match[1] if match else content


def speeds(content: str) -> list[int]:
    """Nominal Fibre Channel speeds in bits per second; none where they are unknown.

    >>> speeds("2 Gbit, 4 Gbit, 8 Gbit")
    [2000000000, 4000000000, 8000000000]
    """
    return [int(number) * 1_000_000_000 for number in _GIGABIT.findall(content)]


def pcie_bits_per_second(speed: str, lanes: str) -> int | None:
    """The data rate of PCIe lanes in each direction, after line coding. None: no speed or no lanes are given.

    Coding: 8b/10b up to 5 GT/s, 128b/130b up to 32, 242 of 256 bytes of a flit at 64 (PCI Express Base
    Specification 6.0).

    >>> pcie_bits_per_second("8.0 GT/s PCIe", "4"), pcie_bits_per_second("2.5 GT/s", "8")
    (31507692307, 16000000000)
    """
    match, width = _GIGATRANSFERS.match(speed), number(lanes)
    if match is None or not width or width > _MAX_LANES:
        return None
    transfers = float(match[1])
    coding = 8 / 10 if transfers <= 5 else 128 / 130 if transfers <= 32 else 242 / 256
    return int(transfers * 1e9 * coding * width)


def number(content: str) -> int | None:
    """An integer of at most 20 digits; None for anything else."""
    return int(content) if content.isdecimal() and len(content) <= _MAX_DIGITS else None


def setting(content: str, key: str) -> str:
    """The value of a `key=value` line; "": there is none.

    >>> setting("## comment\\nInitiatorName=iqn.1993-08.org.debian:01:ab", "InitiatorName")
    'iqn.1993-08.org.debian:01:ab'
    """
    match = re.search(rf"^{key}[^\S\n]*+=[^\S\n]*+(\S++)", content, re.MULTILINE)
    return match[1] if match else ""


def device_numbers(content: bytes) -> dict[str, str]:
    """Device name → device number, from /proc/diskstats.

    >>> device_numbers(b"8 16 sdb 1 2 3 4 5 6 7 8 9 10 11")
    {'sdb': '8:16'}
    """
    lines = (line.split() for line in content.decode("utf-8", "replace").splitlines())
    return {words[2]: f"{words[0]}:{words[1]}" for words in lines if len(words) > 2}


def device_below(mountinfo: str, file: str) -> str | None:
    """Device number of the file system that contains a file, from /proc/self/mountinfo. None: unknown.

    >>> mounts = "27 1 254:0 / / rw - ext4 /dev/vda rw\\n40 27 8:17 / /data rw - xfs /dev/sdb1 rw"
    >>> device_below(mounts, "/data/disk.img"), device_below(mounts, "/database")
    ('8:17', '254:0')
    """
    below: tuple[int, str] | None = None
    for line in mountinfo.splitlines():
        words = line.split()
        folder = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), words[4]) if len(words) > 4 else ""
        is_below = folder and f"{file}/".startswith(folder.rstrip("/") + "/")
        # A later mount hides earlier ones at the same place.
        if is_below and (below is None or len(folder) >= below[0]):
            below = len(folder), words[2]
    return None if below is None else below[1]
