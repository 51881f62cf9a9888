"""The named cases, with their correct verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kernel_lab import kvm_cases
from kernel_lab.cases import ARRAY, DEPTH, Case, Fabric, Load, Truth


def _bottleneck(*elements: str) -> Truth:
    return Truth(("bottleneck",), elements)


_SLOW = Fabric(host=100)
_SLOW_WRITES = Fabric(target=100)
_ROUND_ROBIN = {"iscsi": "round-robin 0", "nvme": "round-robin"}
_DISTANT = Fabric(emulation="delay 20ms")
_REORDERED = Fabric(emulation="delay 10ms reorder 5% 50%")
_LOSSY = Fabric(emulation="loss 3%")
_DISTANT_AND_LOSSY = Fabric(emulation="delay 5ms loss 1%")
"""Without the distance the emulated processors would be nearly full as well, and limit as much as the loss."""
_SOUND = Fabric(emulation="delay 5ms")
_LARGE = Load(queue_depths=(4, 16), block_bytes=64 << 10)
_SWITCHES = frozenset({"sw-a", "sw-b"})
_MODEST = Load(queue_depths=(2, 8, 16))
"""More would overflow the queue of a slow port: Fibre Channel has no congestion control of its own."""
_IN_A_GROUP = """mount -t cgroup2 none /sys/fs/cgroup
echo +io >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/load.service
echo "$(cat /sys/block/dm-0/dev /sys/block/nvme0n1/dev 2>/dev/null) riops={}" >/sys/fs/cgroup/load.service/io.max
for process in $(pidof sshd); do echo "$process" >/sys/fs/cgroup/load.service/cgroup.procs; done"""
"""fio is started over SSH, so it is in the group of the SSH server."""
_FEW = Load(queue_depths=(1, 2, 4), block_bytes=8 << 10)
_SMALL = Load(block_bytes=8 << 10)
_LARGER = Load(block_bytes=32 << 10)
_CAPPED = ("completion_nsec=300000", "mbps=7")
"""Far below what slow emulated processors move. null_blk gives 1/50 s of it at a time, which must hold the largest
request (128 KiB)."""
_MEDIA_5_MS = ("completion_nsec=5000000",)
_MEDIA_20_MS = ("completion_nsec=20000000",)
"""So slow that emulated processors have time left for twice as many I/Os."""
_FOUR_AT_A_TIME = ("completion_nsec=5000000", "hw_queue_depth=4", "submit_queues=1")
_SLOW_OR_BUSY = Truth(("bottleneck", "generator_limited"), ("link:", "path_policy", "host:host1"))
"""Once the queue of the slow path is full, further I/Os saturate the emulated processor, or a core of it."""
_UNREAD_LINK = Truth(("bottleneck", "cannot_tell"), ("link:", "hba:host1/eth1"))
_LEFT = Truth(("bottleneck", "cannot_tell"), ARRAY)
"""The array is not read: naming it is correct, and so is "cannot tell"."""

_DELAYED = """modprobe dm-delay
echo "0 $((SIZE_MIB * 2048)) delay /dev/nullb0 0 20" | dmsetup create delayed
device=/dev/mapper/delayed"""
"""Media behind a device mapper that adds 20 ms to each I/O, however many there are."""
_CACHED_RANGE = """fast=/sys/kernel/config/nullb/nullb1
mkdir $fast
for setting in memory_backed=1 size=32 irqmode=2 completion_nsec=100000; do
  echo ${setting#*=} >$fast/${setting%%=*}
done
echo 1 >$fast/power
dmsetup create tiered <<END
0 65536 linear /dev/nullb1 0
65536 $((SIZE_MIB * 2048 - 65536)) linear /dev/nullb0 65536
END
device=/dev/mapper/tiered"""
"""The first 32 MiB of the volume are in a cache."""
_BATCHES = "sed -i 's/path_selector.*/&\\n  rr_min_io_rq 1000/' /lab/multipath.conf"

_FAST_MEDIA = {"media": ("completion_nsec=300000",)}
_DEEPER = {"load": Load(queue_depths=(8,), block_bytes=8 << 10)}
_WITHOUT_RATE = {"load": Load(queue_depths=(16,), block_bytes=8 << 10)}
_EIGHT = ("load:host1/fio.in_flight=8",)
_EIGHT_SLOTS = ("lun:host1/dm-0.queue_depth=8",)


def _faster(*fabrics: Fabric) -> Mapping[str, Any]:
    """The repair of slow fabrics: the same ones with other rates."""
    return {"fabrics": fabrics}


def _speeds(*ports: str) -> tuple[str, ...]:
    """What-if's words for ports of switches, each as PORT=MEGABITS."""
    return tuple(f"switch_port:{port.replace('=', '.speed=')}Mb/s" for port in ports)


_BOTH_FASTER = _faster(Fabric(host=140), Fabric(host=140))
_BOTH_SPEEDS = _speeds("sw-a/p-host=140", "sw-b/p-host=140")
_TWICE = _faster(Fabric(host=200))
_TWICE_SPEED = _speeds("sw-a/p-host=200")
_FAIL_FAST = {
    "iscsi": "node.session.timeo.replacement_timeout=2",
    "nvme": "--keep-alive-tmo=2 --ctrl-loss-tmo=600 --reconnect-delay=1",
}


def _flapping(seconds: int) -> str:
    """The host's second storage interface goes down and comes back, each for so many seconds."""
    return f"(while :; do ip link set eth2 down; sleep {seconds}; ip link set eth2 up; sleep {seconds}; done) &"


def _both(name: str, truth: Truth, **settings: Any) -> Iterator[Case]:
    """Yield the case over iSCSI with dm-multipath, and over NVMe/TCP with native multipathing."""
    for transport in ("iscsi", "nvme"):
        yield Case(f"{transport}-{name}", truth, transport, **{"policy": _ROUND_ROBIN[transport], **settings})


def _fcp(name: str, truth: Truth, **settings: Any) -> Case:
    """The case over Fibre Channel: FCP in Ethernet frames."""
    return Case(f"fcp-{name}", truth, "fcp", policy="round-robin 0", **settings)


def _nvme_fc(name: str, truth: Truth, **settings: Any) -> Case:
    """The case over NVMe/FC, within one machine, with two paths without a switch."""
    return Case(f"nvme-fc-{name}", truth, "nvme-fc", fabrics=(), policy="round-robin", **settings)


CASES = {
    case.name: case
    for case in (
        *_both("both-ports", _bottleneck("link:"), fabrics=(_SLOW, _SLOW), repair=_BOTH_FASTER, change=_BOTH_SPEEDS),
        *_both("one-port", _bottleneck("link:"), fabrics=(_SLOW,), repair=_TWICE, change=_TWICE_SPEED),
        *_both(
            "one-port-writes",
            _bottleneck("link:"),
            fabrics=(_SLOW_WRITES,),
            load=Load(write_percent=100),
            repair=_faster(Fabric(target=200)),
            change=_speeds("sw-a/p-target=200"),
        ),
        *_both(
            "one-port-mixed",
            _bottleneck("link:"),
            fabrics=(Fabric(host=50),),
            load=Load(write_percent=30),
            repair=_faster(Fabric(host=100)),
            change=_speeds("sw-a/p-host=100"),
        ),
        *_both("unequal-paths", _SLOW_OR_BUSY, fabrics=(_SLOW, Fabric()), repair=_faster(Fabric(), Fabric())),
        *_both("slow-media", _bottleneck(*ARRAY), media=_FOUR_AT_A_TIME, load=_SMALL, repair=_FAST_MEDIA),
        *_both(
            "slow-media-mixed",
            _bottleneck(*ARRAY),
            media=_FOUR_AT_A_TIME,
            load=Load(block_bytes=8 << 10, write_percent=30),
            repair=_FAST_MEDIA,
        ),
        *_both(
            "target-cap",
            _bottleneck(*ARRAY),
            media=_CAPPED,
            load=_LARGER,
            repair=_FAST_MEDIA,
        ),
        *_both(
            "too-little",
            Truth(("concurrency_limited",)),
            media=_MEDIA_20_MS,
            load=_FEW,
            repair=_DEEPER,
            change=_EIGHT,
        ),
        *_both(
            "distance",
            Truth(("concurrency_limited",)),
            fabrics=(_DISTANT, _DISTANT),
            load=_FEW,
            repair=_DEEPER,
            change=_EIGHT,
        ),
        *_both(
            "demand",
            Truth(("demand_limited", "healthy")),
            load=Load(queue_depths=(16,), block_bytes=8 << 10, rate_iops=100),
            repair=_WITHOUT_RATE,
        ),
        *_both(
            "array-unread",
            _LEFT,
            media=_FOUR_AT_A_TIME,
            load=_SMALL,
            unread=frozenset({"array1"}),
            repair=_FAST_MEDIA,
        ),
        *_both("switch-unread", _UNREAD_LINK, fabrics=(_SLOW,), unread=_SWITCHES, repair=_TWICE),
        *_both(
            "standby",
            _bottleneck("sw-a"),
            fabrics=(_SLOW, _SLOW),
            group="group_by_prio",
            path_states=("optimized", "inaccessible"),
            repair=_faster(Fabric(host=200), _SLOW),
            change=_TWICE_SPEED,
        ),
        *_both(
            "non-optimized",
            _bottleneck("sw-a"),
            fabrics=(_SLOW, _SLOW),
            group="group_by_prio",
            path_states=("optimized", "non-optimized"),
            repair=_faster(Fabric(host=200), _SLOW),
            change=_TWICE_SPEED,
        ),
        *_both(
            "neighbour-media",
            _bottleneck(*ARRAY),
            media=_FOUR_AT_A_TIME,
            load=_SMALL,
            neighbour=("rw=randread", "bs=8k", "iodepth=4"),
            repair=_FAST_MEDIA,
        ),
        *_both(
            "neighbour-port",
            _bottleneck("link:"),
            fabrics=(_SLOW_WRITES,),
            load=Load(write_percent=100),
            neighbour=("rw=randwrite", "bs=64k", "iodepth=4"),
            repair=_faster(Fabric(target=200)),
        ),
        *_both(
            "innocent-neighbour",
            _bottleneck("sw-a/p-host"),
            fabrics=(Fabric(host=80),),
            neighbour=("rw=randread", "bs=64k", "iodepth=1", "rate_iops=40"),
            repair=_faster(Fabric(host=160)),
            change=_speeds("sw-a/p-host=160"),
        ),
        *_both(
            "cgroup-limit",
            Truth(("configured_cap",), ("cgroup:host1/load.service",)),
            load=_SMALL,
            host_after=_IN_A_GROUP.format(300),
            repair={"host_after": _IN_A_GROUP.format(600)},
        ),
        Case(
            "nvme-numa-one-port",
            _bottleneck("link:", "path_policy"),
            "nvme",
            fabrics=(_SLOW, _SLOW),
            policy="numa",
            repair={"policy": "round-robin"},
        ),
        Case(
            "iscsi-lun-depth",
            _bottleneck("lun:"),
            policy="round-robin 0",
            media=_MEDIA_20_MS,
            host_after=DEPTH.format(2),
            load=_SMALL,
            repair={"host_after": DEPTH.format(4)},
            change=_EIGHT_SLOTS,
        ),
        Case(
            "nvme-queue-size",
            Truth(("bottleneck", "generator_limited"), ("lun:",)),
            "nvme",
            policy="round-robin",
            media=_MEDIA_5_MS,
            connect="--nr-io-queues=1 --queue-size=16",
            load=Load(block_bytes=8 << 10, queue_depths=(8, 64, 128)),
            repair={"connect": "--nr-io-queues=1 --queue-size=32"},
        ),
        Case(
            "iscsi-session-window",
            _bottleneck("lun:", "hba:"),
            policy="round-robin 0",
            media=_MEDIA_5_MS,
            cmdsn_depth=4,
            load=_SMALL,
            repair={"cmdsn_depth": 8},
        ),
        Case(
            "iscsi-service-time",
            _bottleneck("link:"),
            policy="service-time 0",
            fabrics=(_SLOW, _SLOW),
            repair=_BOTH_FASTER,
            change=_BOTH_SPEEDS,
        ),
        Case(
            "iscsi-path-offline",
            _bottleneck("link:"),
            policy="round-robin 0",
            fabrics=(_SLOW, _SLOW),
            host_after="echo offline >/sys/block/sdb/device/state; sleep 5",
            repair=_faster(Fabric(host=200), _SLOW),
            change=_TWICE_SPEED,
        ),
        *_both("loss", _bottleneck("link:"), fabrics=(_LOSSY,), load=_LARGE, repair=_faster(Fabric())),
        *_both(
            "loss-both",
            _bottleneck("link:"),
            fabrics=(_DISTANT_AND_LOSSY, _DISTANT_AND_LOSSY),
            load=_LARGE,
            repair=_faster(_SOUND, _SOUND),
        ),
        *_both(
            "loss-switch-unread",
            _UNREAD_LINK,
            fabrics=(_LOSSY,),
            load=_LARGE,
            unread=_SWITCHES,
            repair=_faster(Fabric()),
        ),
        *_both(
            "host-unread",
            _bottleneck("link:"),
            fabrics=(_SLOW, _SLOW),
            unread=frozenset({"host1"}),
            repair=_BOTH_FASTER,
            change=_BOTH_SPEEDS,
        ),
        *_both("only-load-read", Truth(("cannot_tell",)), fabrics=(_SLOW,), unread=_SWITCHES | {"host1", "array1"}),
        *_both("small-packets", _bottleneck("link:"), fabrics=(_SLOW,), mtu=900, repair=_TWICE, change=_TWICE_SPEED),
        *(
            Case(
                f"{transport}-flapping",
                _bottleneck("link:", "path:"),
                transport,
                fabrics=(_SLOW, _SLOW),
                policy=_ROUND_ROBIN[transport],
                connect=connect,
                host_after=_flapping(3),
                repair={"host_after": ""},
            )
            for transport, connect in _FAIL_FAST.items()
        ),
        Case(
            "nvme-tcp-window",
            _bottleneck("tcp_connection:"),
            "nvme",
            fabrics=(_DISTANT,),
            host_before="echo 4096 32768 32768 >/proc/sys/net/ipv4/tcp_rmem",
            load=_LARGE,
            repair={"host_before": ""},
        ),
        Case(
            "iscsi-queue-length",
            _bottleneck("link:"),
            policy="queue-length 0",
            fabrics=(_SLOW, _SLOW),
            repair=_BOTH_FASTER,
            change=_BOTH_SPEEDS,
        ),
        Case(
            "iscsi-few-requests",
            _bottleneck("lun:"),
            policy="round-robin 0",
            media=_MEDIA_5_MS,
            host_after="for q in /sys/block/sd*/queue; do echo none >$q/scheduler; echo 4 >$q/nr_requests; done",
            load=_SMALL,
            repair={"host_after": ""},
        ),
        _fcp(
            "both-ports",
            _bottleneck("link:"),
            fabrics=(Fabric(host=40), Fabric(host=40)),
            load=_MODEST,
            repair=_faster(Fabric(host=50), Fabric(host=50)),
            change=_speeds("sw-a/p-host=50", "sw-b/p-host=50"),
        ),
        _fcp("one-port", _bottleneck("link:"), fabrics=(_SLOW,), load=_MODEST, repair=_TWICE, change=_TWICE_SPEED),
        _fcp("slow-media", _bottleneck(*ARRAY), media=_FOUR_AT_A_TIME, load=_SMALL, repair=_FAST_MEDIA),
        _fcp(
            "too-little",
            Truth(("concurrency_limited",)),
            media=_MEDIA_20_MS,
            load=_FEW,
            repair=_DEEPER,
            change=_EIGHT,
        ),
        _fcp(
            "lun-depth",
            _bottleneck("lun:"),
            media=_MEDIA_20_MS,
            load=_SMALL,
            host_after=DEPTH.format(2),
            repair={"host_after": DEPTH.format(4)},
            change=_EIGHT_SLOTS,
        ),
        _nvme_fc("slow-media", _LEFT, media=_FOUR_AT_A_TIME, load=_SMALL, repair=_FAST_MEDIA),
        _nvme_fc(
            "target-cap",
            _bottleneck(*ARRAY),
            media=_CAPPED,
            load=_LARGER,
            repair=_FAST_MEDIA,
        ),
        _nvme_fc(
            "too-little",
            Truth(("concurrency_limited",)),
            media=_MEDIA_20_MS,
            load=_FEW,
            repair=_DEEPER,
            change=_EIGHT,
        ),
        _nvme_fc(
            "demand",
            Truth(("demand_limited", "healthy")),
            load=Load(queue_depths=(16,), block_bytes=8 << 10, rate_iops=100),
            repair=_WITHOUT_RATE,
        ),
        Case(
            "nvme-queue-depth",
            _bottleneck("link:"),
            "nvme",
            policy="queue-depth",
            fabrics=(_SLOW, _SLOW),
            repair=_BOTH_FASTER,
            change=_BOTH_SPEEDS,
        ),
        Case(
            "iscsi-batches",
            _bottleneck("link:", "path_policy"),
            policy="round-robin 0",
            fabrics=(_SLOW, _SLOW),
            host_before=_BATCHES,
            repair=_BOTH_FASTER,
            change=_BOTH_SPEEDS,
        ),
        Case(
            "iscsi-delayed-media",
            Truth(("concurrency_limited",)),
            policy="round-robin 0",
            target_before=_DELAYED,
            load=_FEW,
            repair=_DEEPER,
            change=_EIGHT,
        ),
        Case(
            "iscsi-cached-range",
            _bottleneck(*ARRAY),
            policy="round-robin 0",
            media=_FOUR_AT_A_TIME,
            target_before=_CACHED_RANGE,
            load=_SMALL,
            repair=_FAST_MEDIA,
        ),
        *_both(
            "reordering",
            Truth(("concurrency_limited",)),
            fabrics=(_REORDERED, _REORDERED),
            load=_FEW,
            repair=_DEEPER,
            change=_EIGHT,
        ),
        Case(
            "nvme-host-cpu",
            Truth(("generator_limited",)),
            "nvme",
            fabrics=(Fabric(),),
            load=Load(block_bytes=4 << 10),
        ),
    )
} | kvm_cases.CASES
