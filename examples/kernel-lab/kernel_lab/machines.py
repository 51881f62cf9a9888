"""The guests: QEMU with Debian's kernel. A tar file on the second disk holds the settings of each."""

from __future__ import annotations

import shlex
import tarfile
from pathlib import Path

from kernel_lab import network, virtual_disk
from kernel_lab.cases import Case
from kernel_lab.images import Images
from real_lab.state import State
from real_lab.system import run, start, wait_until

GUEST = Path(__file__).parent / "guest"
SIZE_MIB = 256
CPU = "qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt,-cx16"
"""With `max`, nvmet dies of a double fault every ten minutes in QEMU 7.2, where slabs use 16-byte exchanges."""
_NEIGHBOUR_LOAD = "fio /lab/job.fio >/dev/null &"
BOOT_SECONDS = 180.0
"""Long, because a guest without KVM on a busy machine takes half a minute."""

_MULTIPATH = """defaults {{
  user_friendly_names yes
  find_multipaths no
  path_grouping_policy {group}
  path_selector "{policy}"
  prio alua
  detect_prio yes
  polling_interval 2
}}
"""


def make_keys(folder: Path) -> None:
    """Create the key pairs of the guests and of the user who logs in to them. Raises LabError."""
    home = folder / "secrets"
    home.mkdir(mode=0o700)
    for name in ("host_key", "login_key"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(home / name))


def write_known_hosts(state: State, folder: Path) -> Path:
    """Write and return a known_hosts file with the guests' public key."""
    key = (folder / "secrets/host_key.pub").read_text().strip()
    file = folder / "secrets/known_hosts"
    file.write_text("".join(f"{network.guest_address(state, side)} {key}\n" for side in network.GUESTS))
    return file


def boot(case: Case, state: State, side: str, images: Images, job: Path, folder: Path) -> None:
    """Start a guest and connect its cables; it continues to boot. Raises LabError."""
    disk, log = folder / f"{side}.tar", folder / "logs" / f"{side}.log"
    _write_disk(case, state, side, job, folder, disk)
    ports = (network.MANAGEMENT_PORT, *network.fabrics(case))
    cards = []
    for port in ports:
        cards += [
            "-netdev", f"tap,id={port},ifname={network.tap(state, side, port)},script=no,downscript=no",
            "-device", f"virtio-net-pci,netdev={port},mac={network.mac(side, port)},romfile=",
        ]  # fmt: skip
    memory = str(network.GUESTS[side].memory_mib)
    command = [
        "qemu-system-x86_64", "-accel", "tcg", "-machine", "q35", "-cpu", CPU,
        "-m", memory, "-nodefaults", "-display", "none", "-no-reboot", "-serial", f"file:{log}",
        "-kernel", str(images.kernel), "-initrd", str(images.first_files),
        "-append", "console=ttyS0 quiet panic=1 net.ifnames=0 mitigations=off",
        "-drive", f"file={images.root},format=raw,if=virtio,snapshot=on",
        "-drive", f"file={disk},format=raw,if=virtio,readonly=on", *cards,
    ]  # fmt: skip
    if case.disk is not None:
        backing = virtual_disk.make_backing(case.disk, state, folder)
        command += virtual_disk.arguments(case.disk, backing, folder)
    start(command, lab=state.lab, log_file=folder / "logs" / f"{side}-qemu.log")
    network.plug_in(case, state, side)


def wait_ready(side: str, folder: Path) -> None:
    """Wait until a guest has set up its role. Raises LabError."""
    log = folder / "logs" / f"{side}.log"
    wait_until(
        lambda: log.exists() and "LAB-READY" in log.read_text(errors="replace"), f"{side}, see {log}", BOOT_SECONDS
    )


def _write_disk(case: Case, state: State, side: str, job: Path, folder: Path, disk: Path) -> None:
    work = folder / "disks" / side
    work.mkdir(parents=True)
    guest = network.GUESTS[side]
    roles = ("target", guest.role) if case.one_machine else (guest.role,)
    addresses = {network.mac(side, network.MANAGEMENT_PORT): network.guest_address(state, side)}
    addresses |= {
        network.mac(side, fabric): network.storage_address(side, fabric) for fabric in network.fabrics(case)
    }
    settings = {
        "NAME": guest.name,
        "NUMBER": f"{guest.number:02}",
        "ROLES": " ".join(roles),
        "MTU": str(case.mtu),
        "ADDRESSES": " ".join(f"{mac}={address}" for mac, address in addresses.items()),
        "TRANSPORT": case.transport,
        "PORTALS": " ".join(network.portals(case)),
        "SIZE_MIB": str(SIZE_MIB),
        "MEDIA": " ".join(case.media),
        "POLICY": case.policy,
        "CONNECT": case.connect,
        "CMDSN_DEPTH": str(case.cmdsn_depth),
        "EMULATION": "|".join(fabric.emulation for fabric in network.fabrics(case).values()),
        "TARGET_BEFORE": case.target_before,
        "TARGET_AFTER": case.target_after,
        "HOST_BEFORE": case.host_before,
        "INITIATORS": " ".join(network.initiators(case)),
        "STATES": " ".join(case.path_states),
        "HOST_AFTER": _NEIGHBOUR_LOAD if side == "neighbour" else case.host_after,
    }
    (work / "settings").write_text("".join(f"{name}={shlex.quote(text)}\n" for name, text in settings.items()))
    (work / "multipath.conf").write_text(_MULTIPATH.format(group=case.group, policy=case.policy or "service-time 0"))
    with tarfile.open(disk, "w") as tar:
        for file in (
            GUEST / "start",
            *(GUEST / role for role in roles),
            work / "settings",
            work / "multipath.conf",
            job,
        ):
            tar.add(file, file.name)
        tar.add(folder / "secrets/host_key", "host_key")
        tar.add(folder / "secrets/login_key.pub", "authorized_keys")
    disk.chmod(0o600)
