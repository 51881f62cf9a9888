"""Parses mpclaim's output about the disks that MPIO has claimed. Pure: text in, disks out.

`mpclaim -s -d`:

    MPIO Disk    System Disk  LB Policy    DSM Name
    -------------------------------------------------------------------------------
    MPIO Disk0   Disk 2       RRWS         Microsoft DSM

`mpclaim -s -d 0`, and for all disks, with adapter and controller of each path, `mpclaim -v`:

    MPIO Disk0: 02 Paths, Round Robin with Subset, Implicit Only
        Controlling DSM: Microsoft DSM
        SN: 600601604B5D2E00A1B2C3D4E5F60718
        Supported Load Balance Policies: FOO RR RRWS LQD WP LB

        Path ID          State              SCSI Address      Weight
        ---------------------------------------------------------------------------
        0000000077030001 Active/Optimized   003|000|001|005   0
          TPG_State : Active/Optimized  , TPG_Id: 1, : 11
            Adapter: QLogic QLE2562 Fibre Channel Adapter (B|D|F: 003|000|000)
            Controller: 50060160446019F2 (State: Active)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

POLICIES = {
    "FOO": "failover_only",
    "RR": "round_robin",
    "RRWS": "round_robin_subset",
    "LQD": "least_queue_depth",
    "WP": "weighted",
    "LB": "least_blocks",
    "FAIL OVER ONLY": "failover_only",
    "FAILOVER ONLY": "failover_only",
    "ROUND ROBIN": "round_robin",
    "ROUND ROBIN WITH SUBSET": "round_robin_subset",
    "LEAST QUEUE DEPTH": "least_queue_depth",
    "DYNAMIC LEAST QUEUE DEPTH": "least_queue_depth",
    "WEIGHTED PATHS": "weighted",
    "LEAST BLOCKS": "least_blocks",
}
"""Name of a policy in mpclaim, in upper case → name for all platforms. Policies of vendors' DSMs are not included."""

_ACTIVE = ("active", "aktiv", "actif", "activo", "attivo", "ativo")
"""First letters of the state of an active path, in the common languages of Windows."""

_STANDBY = ("standby", "bereit", "en attente", "en espera", "in attesa", "em espera")
"""First letters of the state of a standby path, in the same languages."""
_SYMMETRIC = ("symm", "symé", "simé", "simm")
"""First letters of the access to an array that serves I/O equally on all paths, in the same languages."""

_MAX_LINE_CHARACTERS = 1_000
"""Longer lines are ignored, because the patterns below backtrack over blanks. mpclaim's lines have some hundred
characters."""
_LIST_LINE = re.compile(r"MPIO\D*(\d{1,6})\s+\D*?(\d{1,6})\s{2,}(\S+(?: \S+)*)\s{2,}(\S.*)")
_DISK_LINE = re.compile(r"MPIO\D*(\d{1,6}):\s*\d+\s[^,]*,\s*([^,]+?)\s*(?:,\s*(.+))?")
_SERIAL = re.compile(r"SN:\s*(\S+)")
_DSM = re.compile(r"Controlling DSM:\s*(.+)")
_PATH = re.compile(r"([0-9A-Fa-f]{16})\s+(\S.*?)\s+(\d{1,3})\|(\d{1,3})\|(\d{1,3})\|(\d{1,3})(?:\s+(\d+))?.*")
_TARGET_GROUP = re.compile(r"\*?\s*TPG_State\s*:\s*(.+?)\s*,\s*TPG_Id:\s*(\d+)\s*,[^:]*:\s*(\d+).*")
_ADAPTER = re.compile(r"Adapter:\s*(.+?)\s*\(B\|D\|F:.*")
_CONTROLLER = re.compile(r"Controller:\s*(\S+).*")


@dataclass(slots=True)
class MpioPath:
    """A path of a disk. None: not reported.

    `address`: its SCSI address: adapter number, bus, target, LUN. `target_group`: number of the target port group
    (ALUA). `group_state`: state of this group, as the array reports it (TPG_State). `relative_port`: relative target
    port identifier in the group.
    """

    id: str
    state: str
    address: tuple[int, int, int, int]
    target_group: int | None = None
    group_state: str | None = None
    relative_port: int | None = None
    adapter: str | None = None
    controller: str | None = None

    @property
    def is_on_standby(self) -> bool:
        """Whether it is on standby, because of the array or because the policy uses another path."""
        return self.state.lower().startswith(_STANDBY)


@dataclass(slots=True)
class MpioDisk:
    """A disk of MPIO. None: not reported.

    `number`: its number in MPIO. `system_disk`: its disk number in Windows. `policy`: name of the policy in the
    details of the disk, in the language of Windows. `code`: abbreviation of the policy in the list of disks.
    `earlier_paths`: those of the outputs before the last one.
    """

    number: int
    system_disk: int | None = None
    policy: str | None = None
    code: str | None = None
    dsm: str | None = None
    access: str | None = None
    serial: str | None = None
    paths: list[MpioPath] = field(default_factory=list)
    earlier_paths: list[list[MpioPath]] = field(default_factory=list)

    @property
    def changes(self) -> int:
        """How often its paths or their states were others than in the output before."""
        states = [{path.id: path.state for path in paths} for paths in (*self.earlier_paths, self.paths)]
        return sum(before != after for before, after in pairwise(states))

    @property
    def common_policy(self) -> str | None:
        """The policy by its name for all platforms; None for a policy of a vendor's DSM."""
        return POLICIES.get((self.code or "").upper()) or POLICIES.get((self.policy or "").upper())

    @property
    def is_symmetric(self) -> bool:
        """Whether the array serves I/O equally on all paths."""
        return (self.access or "").lower().startswith(_SYMMETRIC)

    def state_of(self, path: MpioPath) -> str:
        """The state of a path. With Fail Over Only, which puts all paths except one on standby, the state of its
        group."""
        return path.group_state if path.group_state is not None and self._may_be_on_standby(path) else path.state

    def is_usable(self, path: MpioPath) -> bool | None:
        """Whether the path can carry I/O. None: it is on standby, and it is not known whether only by the policy."""
        if self._may_be_on_standby(path) and path.group_state is None:
            return True if self.is_symmetric else None
        return self.state_of(path).lower().startswith(_ACTIVE)

    def _may_be_on_standby(self, path: MpioPath) -> bool:
        return path.is_on_standby and self.common_policy == "failover_only"


def is_mpclaim(text: str) -> bool:
    """Whether a text contains a disk of MPIO."""
    return any(_LIST_LINE.fullmatch(line) or _DISK_LINE.fullmatch(line) for line in _lines(text))


def parse_disks(text: str) -> list[MpioDisk]:
    """Parse the disks in a text, merging the output of several commands about the same disk."""
    disks: dict[int, MpioDisk] = {}
    disk: MpioDisk | None = None
    for line in _lines(text):
        if match := _DISK_LINE.fullmatch(line):
            disk = disks.setdefault(int(match[1]), MpioDisk(int(match[1])))
            if disk.paths:
                disk.earlier_paths.append(disk.paths)
            disk.policy, disk.access, disk.paths = match[2], match[3], []
        elif match := _LIST_LINE.fullmatch(line):
            disk_in_list = disks.setdefault(int(match[1]), MpioDisk(int(match[1])))
            disk_in_list.system_disk, disk_in_list.code, disk_in_list.dsm = int(match[2]), match[3], match[4]
        elif disk is not None:
            _read_detail(disk, line)
    return list(disks.values())


def _lines(text: str) -> Iterator[str]:
    """Return the lines without surrounding blanks. Lines longer than any of mpclaim are left out."""
    return (line for raw_line in text.splitlines() if len(line := raw_line.strip()) <= _MAX_LINE_CHARACTERS)


def _read_detail(disk: MpioDisk, line: str) -> None:
    if match := _SERIAL.fullmatch(line):
        disk.serial = match[1]
    elif match := _DSM.fullmatch(line):
        disk.dsm = match[1]
    elif match := _PATH.fullmatch(line):
        address = (int(match[3]), int(match[4]), int(match[5]), int(match[6]))
        disk.paths.append(MpioPath(match[1].lower(), match[2], address))
    elif disk.paths:
        path = disk.paths[-1]
        if match := _TARGET_GROUP.fullmatch(line):
            path.group_state, path.target_group, path.relative_port = match[1], int(match[2][:9]), int(match[3][:9])
        elif match := _ADAPTER.fullmatch(line):
            path.adapter = match[1]
        elif match := _CONTROLLER.fullmatch(line):
            path.controller = match[1]
