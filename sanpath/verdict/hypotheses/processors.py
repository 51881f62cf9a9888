"""Processors limit: those of the load's processes, or all of the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import exp, inf, isclose, log
from typing import cast

from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.units import count, duration, iops, percent
from sanpath.verdict.evidence.likelihoods import (
    PROCESSOR_ERROR,
    busy_weight,
    limit_weight,
    run_queue_weight,
)
from sanpath.verdict.evidence.outstanding import saturation_weight
from sanpath.verdict.evidence.variation import slowdown_weight
from sanpath.verdict.hypotheses.claim import SELDOM, Claim, Evidence, Growth, load_claim, weighed
from sanpath.verdict.places.host_queues import works_on_ios
from sanpath.verdict.places.processors import (
    CLEARLY_LESS_BUSY,
    background_busy_ratio,
    follows_load,
    less_busy_with_fewer,
    quota_used,
)
from sanpath.verdict.places.submission import density_of_others, threads_of
from sanpath.verdict.places.table import PlaceTable

_CPU_UNREAD_WEIGHT = -1.5
"""Log-odds of a generator whose processor use is unknown: most keep up with their storage."""
_USUAL_COST_SECONDS = 4e-6
"""Processor time of a generator per I/O, to a factor of a few: fio and DiskSpd 2 to 10 microseconds."""
_COSTLY_SECONDS, _MAX_COSTLY_BYTES = 50e-6, 65_536.0
"""Processor time of an I/O, in seconds, from which the operating system takes it: more than five times what is usual.
And the largest I/O, in bytes, for which that time is not copying or encryption. Emulated IDE and SATA controllers of
virtual machines cost 100 to 250 microseconds."""
COSTLY_PATH = "the path of each I/O through the operating system"
_MIN_CORE_WAIT_RATIO = 0.05
"""Share of the time waiting for a core from which other programs take part of that core: sanpath's own choice."""
_HALF_BUSY, _COST_WEIGHT, _MIN_COST_WEIGHT, _MAX_COST_WEIGHT = 0.2, 1.5, -3.0, 2.0
"""Utilisation of a thread, computed from the usual cost, that counts neither way; weight of its logarithm; and the
bounds of the result."""
_SAME_RATE, _CLEARLY_FEWER = 0.03, 0.7
"""Relative difference up to which throughputs are equal, and ratio from which I/Os are clearly fewer."""
_MOST_PERIODS, _SURELY_STOPPED, _MAX_STOPPED_WEIGHT = 0.5, 0.75, 3.0
"""Share of a CPU quota's periods in which the quota stops the load: the share that counts neither way, as in the rule
cpu-quota-limit; the share from which the quota surely limits; and the weight of that. The last two are sanpath's own
choices."""
MAX_CORE = 3.5
"""Largest log-likelihood ratio of a full core or full processors: unrelated threads or a polling engine may fill
them."""
_CORES = (1, 0.04), (2, 0.12), (4, 0.2), (8, 0.2), (16, 0.18), (32, 0.12), (64, 0.08), (128, 0.06)
"""Numbers of processors, with the share of machines that have them: the smallest cloud instances have one or two,
servers with two sockets up to some hundred threads."""
_USUAL_CORE_COUNT_SHARE, _OTHERS_USE = 0.5, 0.15
"""Share of the machines with one of these numbers, and mean share of a full machine that others use, such as the
kernel (exponential tail): sanpath's own choice."""
_MIN_CORES_USED = 0.5
"""Smallest number of cores in use that can fill a machine with one core: sanpath's own choice."""
_FAIR_SHARE = 0.2
"""Share of a core that a thread gets next to many others that never pause."""
_MIN_NOT_STARVED_WEIGHT = -4.0
"""Smallest log-odds of processors that delay a load which hardly needs them."""
_BACKGROUND_WEIGHT = -1.5
"""Log-odds of a processor that was as busy at clearly less throughput, with fewer I/Os in flight: it polls, or does
other work. One that limits is busy in proportion to its I/Os (utilisation law, Denning and Buzen 1978)."""
_BYTES_LIMIT_WEIGHT = -3.0
"""Log-odds of processors if fewer, larger I/Os moved the same bytes: most of their work is per I/O."""
_IN_KERNEL = 0.25
"""Smallest share of the latency, above a local block device, that may be kernel work on I/Os: sanpath's choice."""
_USUAL_TURN_WAIT = 0.25
"""Mean share of a thread's idle time that it waits for its turn next to others, while nothing there limits: sanpath's
own choice. 0.14 to 0.4 were measured on a machine with one core that was 36 to 88 % busy."""
_BATCHING_SHARE = 0.25
"""Share of the limiting loads with several I/Os outstanding whose threads still sleep now and then: sanpath's own
choice."""
_HELD_ERROR = 0.25
"""Error of the number of I/Os that a thread works on, by two clocks: sanpath's own choice."""
ALL_BUSY_IDLE_RATIO = 0.05
"""Idle share of all processors together, below which a full core means a full machine."""
_THREAD_ERROR = 0.05
"""Standard error of the share of the time in which threads run or wait: the mean includes helper threads that
sleep."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for the load's own processor, and one for those of its machine."""
    if not table.load.seen_at_array:
        yield _generator(table)
    yield from _machine(table)


def _generator(table: PlaceTable) -> Claim:
    """The processes of the load generator fully use their cores, or the CPU quota of their control group."""
    (cpu_ratio, cpu_words), (quota_ratio, quota_words) = _thread_use(table), quota_used(table.facts, table.load)
    # Above the first clock below the load (the host's or the array's), an I/O waits for the generator's own thread.
    # Without such a clock, only a thread seen to be busy or throttled explains it.
    is_shared, place, machine = cpu_ratio is None, "", None
    is_timed = bool(table.segments) and (
        table.segments[0].kind != "below" or cpu_ratio is not None or bool(quota_words)
    )
    explains = frozenset({0}) if is_timed else frozenset[int]()
    if cpu_ratio is None:
        words = "it is not known how busy the generator's processes are"
        weight = _CPU_UNREAD_WEIGHT
        threads = threads_of(table.facts, table.load)
        if (most_used := _max_thread_use(table, threads)) is not None:
            weight += min(MAX_CORE, busy_weight(most_used))
            if threads > 1 and len(table.load.jobs) <= 1:
                words = f"its {count(threads)} threads used {percent(most_used)} of a core each at most, on average"
                if (cost := _high_cost(table, most_used * threads)) is not None:
                    words, place = f"{words}, {duration(cost)} for each I/O", COSTLY_PATH
        else:
            ops = table.facts.ops_per_second_in(table.load.step)
            if threads:
                words, weight = f"each of its threads starts {iops(ops / threads)}", _usual_cost_weight(ops / threads)
            elif (of_one_thread := _usual_cost_weight(ops)) < weight:
                words, weight = f"its threads start {iops(ops)} together", of_one_thread
    else:
        words, weight = cpu_words, limit_weight(cpu_ratio, PROCESSOR_ERROR)
    of_quota = max(limit_weight(quota_ratio, PROCESSOR_ERROR), _stopped_weight(table)) if quota_words else 0.0
    of_wait, wait_words, waits_on = waits_for_core(table)
    if quota_words and of_quota > weight:
        # All processes share a quota, and it holds them back even if cores are idle.
        words, weight, is_shared, place = quota_words, of_quota, True, "its CPU quota"
    elif of_wait > max(0.0, weight) and of_quota <= 0:  # A throttled process waits for no other program.
        words, weight, place, machine = wait_words, of_wait, "the cores that the load uses", waits_on
    evidence = [
        Evidence(words, weight),
        *_unused_slots_evidence(table),
        *_device_evidence(table),
        *_same_rate_with_less(table, weight, table.load.cpu_ratio, lambda _, load: load.cpu_ratio),
        *_all_in_device(table, weight),
        *weighed(*slowdown_weight(table.load)),
    ]
    because = (f"{words}; nothing measured below it is saturated",)
    # More outstanding I/Os may mean more processes. Each was seen to have its own core.
    growth: Growth = "saturates" if is_shared else "any"
    return load_claim("generator_limited", explains, evidence, because, growth, place=place, machine=machine)


def _stopped_weight(table: PlaceTable) -> float:
    """Log-likelihood ratio of the share of the periods in which the quota stopped the load, -inf: not read. The quota
    limits only if it stops the load in most periods: in the others the load used less than its quota."""
    stopped = table.facts.row_of(table.load)["cpu_throttled_ratio"]
    if stopped is None:
        return -inf
    share = (float(stopped) - _MOST_PERIODS) / (_SURELY_STOPPED - _MOST_PERIODS)
    return max(-_MAX_STOPPED_WEIGHT, min(_MAX_STOPPED_WEIGHT, share * _MAX_STOPPED_WEIGHT))


def _high_cost(table: PlaceTable, cores: float) -> float | None:
    """Processor time of each I/O in seconds, if it is more than a generator takes. `cores`: used by all threads.
    None: it is usual, or I/Os are large."""
    load, ops = table.load, table.facts.ops_per_second_in(table.load.step)
    is_small = 0 < load.bytes_per_second <= _MAX_COSTLY_BYTES * load.ops_per_second
    return cores / ops if is_small and ops and cores / ops >= _COSTLY_SECONDS else None


def _max_thread_use(table: PlaceTable, threads: float) -> float | None:
    """The largest share of a core that a thread of the load can have used. None: no core of its machine is read.

    It is no busier than the busiest core, which mostly is its own. The threads of one job are assumed to be equally
    busy: together they used no more than all cores.
    """
    alike = threads and len(table.load.jobs) <= 1
    bounds = [
        min(used, number(row, "cpu_ratio") * number(row, "cores") / threads)
        if alike and row["cores"] and row["cpu_ratio"] is not None
        else used
        for row in table.machine_rows
        if isinstance(used := row["busiest_core_ratio"], float)
    ]
    return max(bounds, default=None)


def _thread_use(table: PlaceTable) -> tuple[float | None, str]:
    """The share of a core that a process of the load uses, reported by itself or else by its machine, and words for
    it. None: neither reports it."""
    if (used := table.load.cpu_ratio) is not None:
        return used, f"a process of the load used {percent(used)} of a core"
    ran = [ratio for row in table.machine_rows if isinstance(ratio := row["load_thread_run_ratio"], float)]
    return (max(ran), f"its threads ran for {percent(max(ran))} of the time") if ran else (None, "")


def waits_for_core(table: PlaceTable) -> tuple[float, str, str | None]:
    """The log-likelihood ratio that the load's threads wait for a core that others use while other cores are idle,
    words for it, and the machine. (0, "", None): not read, they hardly wait, or each has one I/O outstanding."""
    found: tuple[float, str, str | None] = (0.0, "", None)
    has_several = (table.load.in_flight_configured or 0.0) > max(1.0, threads_of(table.facts, table.load))
    for row in table.machine_rows if has_several else ():
        run, wait = (cast("float | None", row[f"load_thread_{what}_ratio"]) for what in ("run", "wait"))
        others_idle = 1 - number(row, "cpu_ratio") >= ALL_BUSY_IDLE_RATIO
        if run is None or wait is None or wait < _MIN_CORE_WAIT_RATIO or not others_idle:
            continue
        if (weight := _core_wait_weight(run, wait)) > found[0]:
            waiting = f"wait for {percent(wait)} for a core that others use"
            found = weight, f"its threads run for {percent(run)} of the time and {waiting}", str(row["entity"])
    return found


def _same_rate_with_less(
    table: PlaceTable,
    weight: float,
    used: float | None,
    used_by: Callable[[Facts, LoadFacts], float | None],
) -> Iterator[Evidence]:
    """Evidence that another step reached the same I/Os a second with clearly less processor use, or the same bytes
    with clearly fewer I/Os: then processors do not limit. It outweighs their utilisation, whose log-likelihood ratio
    is `weight`. `used`: processor use, None: not known; `used_by`: that of another load."""
    load = table.load
    if used is not None and weight <= 0:
        return
    for other in table.facts.loads:
        if other.step == load.step or other.direction != load.direction or not load.bytes_per_second:
            continue
        of_other = used_by(table.facts, other)
        has_less = used is not None and of_other is not None and of_other <= (1 - CLEARLY_LESS_BUSY) * used
        same_ops = other in table.same_io and isclose(other.ops_per_second, load.ops_per_second, rel_tol=_SAME_RATE)
        same_bytes = other.same_data(load, "align_bytes") and isclose(
            other.bytes_per_second, load.bytes_per_second, rel_tol=_SAME_RATE
        )
        fewer_ops = other.ops_per_second <= _CLEARLY_FEWER * load.ops_per_second
        if same_ops and has_less:
            words = f"throughput was the same with {of_other:.2g} of a core"
        elif same_bytes and fewer_ops and (used is None) == (of_other is None):
            words = f"at {iops(other.ops_per_second)} of a larger size, bytes/s were the same"
        else:
            continue
        yield Evidence(words, (_BACKGROUND_WEIGHT if has_less else _BYTES_LIMIT_WEIGHT) - max(0.0, weight))
        return


def _all_in_device(table: PlaceTable, weight: float) -> Iterator[Evidence]:
    """Evidence that all outstanding I/Os are in the block device, so that the load's threads have none to work on: a
    limiting thread always has one (Little's law). It outweighs their utilisation, whose log-likelihood ratio is
    `weight`."""
    configured, queues = table.load.in_flight_configured, table.queues
    if weight <= 0 or not configured or not queues:
        return
    tables = (table, *table.opposite_direction)
    in_device = sum(each.load.ops_per_second * each.seconds(range(1, len(each.segments))) for each in tables)
    held = configured - in_device + table.load.ops_per_second * queues[0].error_seconds
    if (deviation := (1 - max(0.0, held)) / _HELD_ERROR) > 0:
        words = f"{count(in_device)} of {count(configured)} outstanding I/Os are in the device: it polls"
        yield Evidence(words, max(_BACKGROUND_WEIGHT - weight, -(deviation**2) / 2))


def _device_evidence(table: PlaceTable) -> list[Evidence]:
    """Evidence from the I/Os in the load's block device: this many saturate most devices, and a generator that cannot
    keep up rarely has them there."""
    in_device = table.in_flight_below(0) if table.queues else 0.0
    return weighed(saturation_weight(table, in_device), f"{count(in_device)} I/Os are in its block device")


def _usual_cost_weight(ops_per_second: float) -> float:
    """Log-likelihood ratio of threads of unknown utilisation, given the I/Os that each of them starts."""
    busy_ratio = _USUAL_COST_SECONDS * ops_per_second
    return max(_MIN_COST_WEIGHT, min(_MAX_COST_WEIGHT, _COST_WEIGHT * log(max(busy_ratio, 1e-9) / _HALF_BUSY)))


def _machine(table: PlaceTable) -> Iterator[Claim]:
    """The processors of the load's machine are busy.

    They also handle what arrives from the network, so I/Os wait for them above the array, wherever the clocks are.
    """
    busiest = max(table.machine_rows, key=lambda row: number(row, "cpu_ratio"), default=None)
    if busiest is None or busiest["cpu_ratio"] is None:
        yield from _unread_machine(table)
        return
    machine = str(busiest["entity"])
    words = f"the processors of {machine} are {percent(number(busiest, 'cpu_ratio'))} busy"
    in_kernel = _kernel_work(table)
    explains = in_kernel or table.above_array_clock | {0}
    weight = min(MAX_CORE, busy_weight(number(busiest, "cpu_ratio")))
    evidence = [Evidence(words, weight)]
    if in_kernel:
        evidence += background_evidence(table, busiest, "cpu_ratio", weight)
    elif (measured := _run_queue_evidence(table, busiest, weight)) is not None:
        evidence.append(measured)
    else:
        evidence += background_evidence(table, busiest, "cpu_ratio", weight)
        if not follows_load(table.facts, table.load, table.same_io, machine, "cpu_ratio"):
            evidence += _short_wait_evidence(table, weight)
    evidence += _unused_slots_evidence(table)
    because = (f"{words}; nothing measured below it is saturated",)
    place = f"the processors of {table.facts.topology.entities[machine].label}"
    yield load_claim("generator_limited", explains, evidence, because, prior=SELDOM, place=place, machine=machine)


def _kernel_work(table: PlaceTable) -> frozenset[int]:
    """Indices of the segments in which threads of the kernel work on I/Os, between a device and its parts, if that
    takes much of the latency: how long the load's threads wait for a processor says nothing about them."""
    worked_on = frozenset(
        index
        for index, segment in enumerate(table.segments)
        if segment.queue is not None and works_on_ios(table.facts, segment.queue)
    )
    takes_much = table.seconds(worked_on) >= _IN_KERNEL * table.load.latency_seconds
    return worked_on if takes_much else frozenset()


def _run_queue_evidence(table: PlaceTable, row: FactRow, weight: float) -> Evidence | None:
    """Evidence from the time that the load's threads wait for a processor. None: not read. `row`: of the host;
    `weight`: the log-likelihood ratio of its utilisation.

    It outweighs the utilisation, which others may cause: threads that mostly sleep run at once, whatever else runs. A
    thread with several I/Os outstanding that cannot keep up never sleeps: it runs, or it waits. If the load's own
    I/Os fill the processors, such a thread sleeps while the kernel works on the I/Os in batches: above the block
    device, or in the network.
    """
    waiting, ran = (cast("float | None", row[f"load_thread_{what}_ratio"]) for what in ("wait", "run"))
    if waiting is None or ran is None:
        return None
    words = f"its threads run for {percent(ran)} of the time and wait for a processor for {percent(waiting)}"
    has_several = (table.load.in_flight_configured or 0.0) > max(1.0, threads_of(table.facts, table.load))
    if not has_several:
        return Evidence(words, min(0.0, run_queue_weight(waiting) - weight))
    fewer = less_busy_with_fewer(table.facts, table.load, table.same_io, str(row["entity"]), "cpu_ratio")
    works_on_ios = table.crosses_a_network or table.seconds({0}) >= _IN_KERNEL * table.load.latency_seconds
    if fewer is not None and weight > 0 and works_on_ios:
        words += f"; with fewer I/Os the processors were {percent(fewer)} busy"
        return Evidence(words, min(0.0, run_queue_weight(waiting / max(1 - ran, waiting, 1e-3), _USUAL_TURN_WAIT)))
    return Evidence(words, min(0.0, _core_wait_weight(ran, waiting) - weight))


def _core_wait_weight(ran: float, waiting: float) -> float:
    """Log-likelihood ratio that the wait for a core limits a thread with several I/Os outstanding. It never sleeps
    then: it runs or waits all the time (`ran`, `waiting`: shares of the time). It may also take turns, in batches,
    with what serves its I/Os: then it sleeps like a thread with a single I/O."""
    never_sleeps = (1 - _BATCHING_SHARE) * exp(limit_weight(min(1.0, ran + waiting), _THREAD_ERROR))
    return log(never_sleeps + _BATCHING_SHARE * exp(run_queue_weight(waiting)))


def _short_wait_evidence(table: PlaceTable, weight: float) -> Iterator[Evidence]:
    """Evidence that the load's threads wait for a processor too rarely for the processors to limit, however busy
    others keep them. `weight`: log-likelihood ratio of the processors' utilisation, which it outweighs."""
    used = table.load.cpu_ratio
    if used is None:
        return
    if (in_device := _time_in_device(table)) is not None:
        words = f"a thread runs for {percent(used)} of the time; its I/O is in the device for {percent(in_device)}"
        yield Evidence(words, min(0.0, run_queue_weight(max(0.0, 1 - used - in_device)) - weight))
    elif used < _FAIR_SHARE:
        # A thread that always wants to run gets its share of a core, whatever else runs.
        words = f"a process of the load wanted only {percent(used)} of a core"
        yield Evidence(words, max(_MIN_NOT_STARVED_WEIGHT - max(0.0, weight), 2 * log(max(used, 1e-3) / _FAIR_SHARE)))


def _time_in_device(table: PlaceTable) -> float | None:
    """Share of the time in which a thread's I/O is in its block device. None: unknown; or the thread has several I/Os
    outstanding, or the I/O leaves the host, so that processors also work below the device."""
    threads, configured = threads_of(table.facts, table.load) or 1, table.load.in_flight_configured
    if not configured or configured > threads or table.crosses_a_network or not table.queues:
        return None
    tables = (table, *table.opposite_direction)
    in_device = sum(each.load.ops_per_second * each.seconds(range(1, len(each.segments))) for each in tables)
    return min(1.0, in_device / threads)


def _unread_machine(table: PlaceTable) -> Iterator[Claim]:
    """The processors of an unread machine: it may have no more than the load's processes use."""
    threads = threads_of(table.facts, table.load)
    cores_used = _cores_used(table.facts, table.load) or 0.0
    if threads < 2 or cores_used < _MIN_CORES_USED:
        return
    words = f"its {count(threads)} processes use {cores_used:.2g} cores; how many its machine has is not known"
    explains = table.above_array_clock | {0}
    weight = _core_count_weight(cores_used)
    because = (f"{words}; nothing measured below it is saturated",)
    evidence = [Evidence(words, weight), *_same_rate_with_less(table, weight, cores_used, _cores_used)]
    machine = next(iter(table.machines), None)
    place = "the processors of its machine"
    yield load_claim("generator_limited", explains, evidence, because, prior=SELDOM, place=place, machine=machine)


def _cores_used(facts: Facts, load: LoadFacts) -> float | None:
    """Cores that the processes of a load use together. None: they do not report it."""
    return None if load.cpu_ratio is None else threads_of(facts, load) * load.cpu_ratio


def _core_count_weight(cores_used: float) -> float:
    """Log-likelihood ratio that the cores in use are all that a machine has, relative to any share of them.

    Most machines have a power of two; for the others, every number of processors is equally probable.
    """
    larger = [(cores_used / cores, share / cores) for cores, share in _CORES if cores >= cores_used]
    if not larger:
        return 0.0
    of_full = sum(share * exp(-(1 - used) / _OTHERS_USE) / _OTHERS_USE for used, share in larger)
    return log(_USUAL_CORE_COUNT_SHARE * of_full / sum(share for _, share in larger) + 1 - _USUAL_CORE_COUNT_SHARE)


def background_evidence(table: PlaceTable, row: FactRow, fact: str, weight: float) -> list[Evidence]:
    """Evidence that I/Os do not fill a processor. It outweighs the processor's utilisation, whose log-likelihood
    ratio is `weight`. `row`: of the host in this step."""
    if weight <= 0:
        return []
    share, words = background_busy_ratio(table.facts, table.load, table.same_io, str(row["entity"]), fact)
    return [Evidence(words, share * (_BACKGROUND_WEIGHT - weight))] if words else []


def _unused_slots_evidence(table: PlaceTable) -> list[Evidence]:
    """Evidence from unused I/Os in flight: a generator that cannot keep up leaves some unused with even odds."""
    if table.in_flight_ratio is None:
        return []
    others = density_of_others(table.in_flight_ratio, table.blocked_ratio)
    weight = log(0.5 + 0.5 * others) - log(others)
    words = f"{percent(table.in_flight_ratio)} of the configured I/Os are outstanding"
    if table.load.in_flight_configured is None:
        words = "at times no I/O is outstanding"
    return [Evidence(words, weight)]
