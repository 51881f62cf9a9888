"""The cases of the real lab, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class SwitchPort:
    """A port of the lab's switch.

    `name`: its ifName. `speed_megabits_per_second`: the ifHighSpeed that the agent reports.
    `rate_megabits_per_second`: rate limit (tbf) towards the device; None: no limit.
    """

    name: str
    speed_megabits_per_second: int = 10_000
    rate_megabits_per_second: int | None = None


@dataclass(frozen=True, slots=True)
class Fabric:
    """One initiator port and one target port, connected by a separate bridge.

    A rate limit of `host_port` limits reads, one of `array_port` writes. `loaded`: whether the load uses this fabric.
    """

    host_port: SwitchPort
    array_port: SwitchPort
    loaded: bool = True


@dataclass(frozen=True, slots=True)
class Array:
    """The configuration of nbdkit: filters below the filter `log`, outermost first, and their parameters.

    `size_bytes`: size of a volume. `front_filters`: filters above `log`; their time passes before the array's own
    clock starts.
    """

    filters: tuple[str, ...]
    parameters: tuple[str, ...]
    size_bytes: int = 1 << 30
    front_filters: tuple[str, ...] = ()
    volumes: int = 1


@dataclass(frozen=True, slots=True)
class Load:
    """fio's steps of random I/O: one job per queue depth and volume.

    Each step starts after an idle gap, which all sources show as an edge. `write_percent`: share of writes.
    """

    queue_depths: tuple[int, ...] = (2, 16, 64)
    block_bytes: int = 64 << 10
    ramp_seconds: int = 2
    step_seconds: int = 8
    gap_seconds: int = 2
    write_percent: int = 0


@dataclass(frozen=True, slots=True)
class Case:
    """A lab to build and its load.

    `counter_cache_seconds`: how long the agent answers from its cache; None: the 3 s of net-snmp. Real switches
    cache too. `unread`: sources that are not in sanpath.yaml, of sw1 and fa1.
    """

    name: str
    fabrics: tuple[Fabric, ...]
    array: Array
    load: Load
    counter_cache_seconds: int | None
    unread: frozenset[str] = frozenset()


_SLOW_MEGABITS = 400
"""A rate that two busy cores can still fill."""

_FAST_FABRIC = Fabric(SwitchPort("p-host"), SwitchPort("p-array"))
_UNSATURATED_ARRAY = Array(filters=("delay",), parameters=("rdelay=2ms",))

_SHORT = Load(queue_depths=(16, 64))


def _slow_host_port(name: str, megabits: int = _SLOW_MEGABITS) -> SwitchPort:
    return SwitchPort(name, speed_megabits_per_second=megabits, rate_megabits_per_second=megabits)


CASES = {
    case.name: case
    for case in (
        Case(
            name="slow-port",
            fabrics=(Fabric(_slow_host_port("p-host"), SwitchPort("p-array")),),
            array=_UNSATURATED_ARRAY,
            # A step holds four whole windows of the array's 2 s, wherever they begin.
            load=Load(step_seconds=10),
            counter_cache_seconds=1,
        ),
        Case(
            # Half the rate and twice the delay: the same number of I/Os fills it, with half the work for the machine.
            name="slower-port",
            fabrics=(Fabric(_slow_host_port("p-host", _SLOW_MEGABITS // 2), SwitchPort("p-array")),),
            array=Array(filters=("delay",), parameters=("rdelay=4ms",)),
            load=_SHORT,
            counter_cache_seconds=1,
        ),
        Case(
            # slower-port with half the rate and no other change: slower-port must reach what is predicted from this.
            name="slower-port-halved",
            fabrics=(Fabric(_slow_host_port("p-host", _SLOW_MEGABITS // 4), SwitchPort("p-array")),),
            array=Array(filters=("delay",), parameters=("rdelay=4ms",)),
            load=_SHORT,
            counter_cache_seconds=1,
        ),
        Case(
            name="saturated-array",
            fabrics=(_FAST_FABRIC,),
            # The delay keeps the lowest step below the rate: that step shows the latency without a queue.
            array=Array(filters=("delay", "rate"), parameters=("rdelay=2ms", "rate=400M")),
            load=Load(queue_depths=(1, 16, 64)),
            counter_cache_seconds=1,
        ),
        Case(
            name="too-little-concurrency",
            fabrics=(_FAST_FABRIC,),
            array=_UNSATURATED_ARRAY,
            load=Load(queue_depths=(1, 2)),
            counter_cache_seconds=1,
        ),
        Case(
            name="one-of-two-links",
            fabrics=(
                Fabric(_slow_host_port("a-host"), SwitchPort("a-array")),
                Fabric(_slow_host_port("b-host"), SwitchPort("b-array"), loaded=False),
            ),
            array=_UNSATURATED_ARRAY,
            # A step holds four whole windows of the agent's 3 s, wherever they begin.
            load=Load(queue_depths=(2, 64), step_seconds=17),
            counter_cache_seconds=None,
        ),
        Case(
            # The array accepts requests one at a time, before its own clock starts.
            name="one-at-a-time",
            fabrics=(_FAST_FABRIC,),
            array=Array(filters=("delay",), parameters=("rdelay=2ms",), front_filters=("noparallel",)),
            load=_SHORT,
            counter_cache_seconds=1,
        ),
        Case(
            # The port can carry 728 reads a second, the array 750.
            name="close-ceilings",
            fabrics=(Fabric(_slow_host_port("p-host"), SwitchPort("p-array")),),
            array=Array(filters=("delay", "rate"), parameters=("rdelay=2ms", "rate=375M")),
            load=_SHORT,
            counter_cache_seconds=1,
        ),
        Case(
            name="slow-port-mixed",
            fabrics=(Fabric(_slow_host_port("p-host"), SwitchPort("p-array")),),
            array=Array(filters=("delay",), parameters=("rdelay=2ms", "wdelay=2ms")),
            load=replace(_SHORT, write_percent=30),
            counter_cache_seconds=1,
        ),
        Case(
            name="slow-port-two-volumes",
            fabrics=(Fabric(_slow_host_port("p-host"), SwitchPort("p-array")),),
            array=replace(_UNSATURATED_ARRAY, volumes=2),
            load=_SHORT,
            counter_cache_seconds=1,
        ),
        Case(
            name="slow-port-switch-unread",
            fabrics=(Fabric(_slow_host_port("p-host"), SwitchPort("p-array")),),
            array=_UNSATURATED_ARRAY,
            load=_SHORT,
            counter_cache_seconds=1,
            unread=frozenset(("sw1",)),
        ),
        Case(
            name="saturated-array-unread",
            fabrics=(_FAST_FABRIC,),
            array=Array(filters=("delay", "rate"), parameters=("rdelay=2ms", "rate=400M")),
            load=_SHORT,
            counter_cache_seconds=1,
            unread=frozenset(("fa1",)),
        ),
    )
}
