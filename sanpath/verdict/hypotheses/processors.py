"""Processors limit: that of a process of the load, all of its machine, or one core."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import exp, isclose, log
from typing import cast

from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.units import count, duration, iops, percent
from sanpath.verdict.evidence.likelihoods import PROCESSOR_ERROR, at_limit, run_queue_weight, without_pause
from sanpath.verdict.evidence.outstanding import saturates_many
from sanpath.verdict.evidence.variation import slowdown_weight
from sanpath.verdict.hypotheses.claim import SELDOM, Claim, Evidence, Growth, conclusion_of, of_the_load, weighed
from sanpath.verdict.places.processors import (
    CLEARLY_LESS_BUSY,
    busy_anyway,
    follows_load,
    less_busy_with_fewer,
    quota_used,
)
from sanpath.verdict.places.submission import density_of_others, threads_of
from sanpath.verdict.places.table import PlaceTable

_CPU_UNREAD = -1.5
"""Log-odds of a generator whose use of the processor nothing shows: most keep up with their storage."""
_USUAL_COST_SECONDS = 4e-6
"""Processor time that a generator takes for an I/O, to a factor of a few: fio and DiskSpd 2 to 10 microseconds."""
_COST_LOG_ERROR, _RUNS_MEANWHILE = log(2), 0.3
"""Standard error of its natural logarithm, and the least share of the time in which a thread that polls runs while
its I/O is in the device."""
_OTHERS_TAKE = 0.05
"""Share of the time that threads wait for a core from which others take a part of it: sanpath's own choice."""
_HALF_BUSY, _COST_WEIGHT, _COST_LEAST, _COST_MOST = 0.2, 1.5, -3.0, 2.0
"""Utilisation of a thread by that cost which says nothing, weight of its logarithm, and the limits of the result."""
_SAME_RATE, _CLEARLY_FEWER = 0.03, 0.7
"""Relative difference of equal throughputs, and ratio of I/Os that are clearly fewer."""
_FULL_CORE = 3.5
"""Largest log-likelihood ratio of a full core, or of full processors: unrelated threads may fill them, or an engine
that polls."""
_FOLLOWS_LOAD = 5.0
"""The same of a core that is busy in proportion to the load's I/Os over several steps: it works for these. A program
that fills it may be the load, or a virtual machine that holds it."""
_CORES = (1, 0.04), (2, 0.12), (4, 0.2), (8, 0.2), (16, 0.18), (32, 0.12), (64, 0.08), (128, 0.06)
"""Numbers of processors, with the share of machines that have as many: the smallest cloud instances have one or two,
servers of two sockets up to some hundred threads."""
_SUCH_A_NUMBER, _OTHERS_USE = 0.5, 0.15
"""Share of the machines that have one of these numbers, and the mean share of a full machine that others use, such as
the kernel (exponential tail): sanpath's own choice."""
_LEAST_CORES_USED = 0.5
"""Fewer cores in use than this cannot fill even a machine of one core: sanpath's own choice."""
_FAIR_SHARE = 0.2
"""Share of a core that a thread gets beside many others that never pause."""
_NOT_STARVED = -4.0
"""Least log-odds of processors that make a load wait which hardly wants any."""
_BUSY_ANYWAY = -1.5
"""Log-odds of a processor that was as busy at clearly less throughput, with fewer I/Os in flight: it polls, or does
other work. One that limits is busy in proportion to its I/Os (utilisation law, Denning and Buzen 1978)."""
_BYTES_LIMIT = -3.0
"""Log-odds of processors where fewer I/Os of a larger size moved as many bytes: their work is mostly for each I/O."""
_BY_INTERRUPTS, _USUAL_INTERRUPTS = 0.7, 0.1
"""Share of the full cores that limit which interrupts fill, the others being filled by a thread of the I/O path, and
the mean share of its time that a core spends on interrupts if a program fills it (exponential tail)."""
_IN_KERNEL = 0.25
"""Least share of the latency above a local block device in which the kernel may work on I/Os: sanpath's choice."""
_USUAL_TURN = 0.25
"""Of the time in which a thread does not run, the mean share that it waits for its turn beside others that limit
nothing: sanpath's own choice. 0.14 to 0.4 were measured on a machine of one core that was 36 to 88 % busy."""
_IN_BATCHES = 0.25
"""Share of the loads with several I/Os outstanding whose threads sleep now and then although they limit: sanpath's
own choice."""
_HELD_ERROR = 0.25
"""Error of the I/Os that a thread works on, by two clocks: sanpath's own choice."""
_ALL_BUSY = 0.05
"""Idle share of all processors together below which a full core is that of a full machine."""
_NOT_ONE_CORE = -3.0
"""Least log-odds of one full core as the limit on such a machine."""
_OF_THE_LOAD = 0.9
"""From this share of a core on, a process of the load accounts for a full core itself. So does one that waits for it:
then it is that wait which limits."""
_THREAD_ERROR = 0.05
"""Standard error of the share of the time in which threads run or wait: the mean has helpers that sleep."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for the load's own processor, one for those of its machine, and one for each full core."""
    if not table.load.seen_at_array:
        yield _generator(table)
    yield from _machine(table)
    yield from _cores(table)


def _generator(table: PlaceTable) -> Claim:
    """The processes of the load generator use their cores, or the CPU quota of their control group, fully."""
    (cpu_ratio, cpu_words), (quota_ratio, quota_words) = _own_use(table), quota_used(table.facts, table.load)
    # Above the first clock below the load, the host's or the array's, an I/O waits for the generator's own thread.
    # Where no such clock is read, only a thread that was seen to be busy, or stopped, accounts for it.
    is_timed = bool(table.segments) and (
        table.segments[0].kind != "below" or cpu_ratio is not None or bool(quota_words)
    )
    explains = frozenset({0}) if is_timed else frozenset[int]()
    if cpu_ratio is None:
        words = "how busy the generator's processes are is not known"
        weight = _CPU_UNREAD
        threads = threads_of(table.facts, table.load)
        if (most_used := _most_by_a_thread(table, threads)) is not None:
            weight += min(_FULL_CORE, without_pause(most_used))
            if threads > 1 and len(table.load.jobs) <= 1:
                words = f"its {count(threads)} threads used {percent(most_used)} of a core each at most, on average"
        else:
            ops = table.facts.ops_per_second_in(table.load.step)
            if threads:
                words, weight = f"each of its threads starts {iops(ops / threads)}", _by_usual_cost(ops / threads)
            elif (of_one_thread := _by_usual_cost(ops)) < weight:
                words, weight = f"its threads start {iops(ops)} together", of_one_thread
    else:
        words, weight = cpu_words, at_limit(cpu_ratio, PROCESSOR_ERROR)
    is_shared, place, machine = cpu_ratio is None, "", None
    of_quota = at_limit(quota_ratio, PROCESSOR_ERROR) if quota_words else 0.0
    of_wait, wait_words, waits_on = _waits_for_core(table)
    if quota_words and of_quota > weight:
        # A quota is shared by all processes, however many there are, and holds them on cores that idle.
        words, weight, is_shared, place = quota_words, of_quota, True, "its CPU quota"
    elif of_wait > max(0.0, weight) and of_quota <= 0:  # What a quota stops waits for no other program.
        words, weight, place, machine = wait_words, of_wait, "the cores that the load uses", waits_on
    evidence = [
        Evidence(words, weight),
        *_unused_slots(table),
        *_fills_device(table),
        *_as_fast_with_less(table, weight, table.load.cpu_ratio, lambda _, load: load.cpu_ratio),
        *_polling(table, weight),
        *_holds_none(table, weight),
        *weighed(*slowdown_weight(table.load)),
    ]
    because = (f"{words}; nothing measured below it is saturated",)
    # More outstanding I/Os may be those of more processes, each of which was seen to have a core of its own.
    growth: Growth = "saturates" if is_shared else "any"
    return of_the_load("generator_limited", explains, evidence, because, growth, place=place, machine=machine)


def _most_by_a_thread(table: PlaceTable, threads: float) -> float | None:
    """The most of a core that a thread of the load can have used. None: no core of its machine is read.

    It is not busier than the busiest core, which mostly is its own. The threads of one job are taken to use as much
    each: together no more than all cores were busy.
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


def _own_use(table: PlaceTable) -> tuple[float | None, str]:
    """Share of a core that a process of the load uses, by itself or else by its machine, and that in words. None:
    neither reports it."""
    if (used := table.load.cpu_ratio) is not None:
        return used, f"a process of the load used {percent(used)} of a core"
    ran = [ratio for row in table.machine_rows if isinstance(ratio := row["load_thread_run_ratio"], float)]
    return (max(ran), f"its threads ran in {percent(max(ran))} of the time") if ran else (None, "")


def _waits_for_core(table: PlaceTable) -> tuple[float, str, str | None]:
    """The log-likelihood ratio that threads of the load wait for a core that others use while other cores idle, that
    in words, and the machine. (0, "", None): it is not read, they hardly wait, or have one I/O outstanding each."""
    found: tuple[float, str, str | None] = (0.0, "", None)
    has_several = (table.load.in_flight_configured or 0.0) > max(1.0, threads_of(table.facts, table.load))
    for row in table.machine_rows if has_several else ():
        run, wait = (cast("float | None", row[f"load_thread_{what}_ratio"]) for what in ("run", "wait"))
        others_idle = 1 - number(row, "cpu_ratio") >= _ALL_BUSY
        if run is None or wait is None or wait < _OTHERS_TAKE or not others_idle:
            continue
        if (weight := _kept_from_cores(run, wait)) > found[0]:
            waiting = f"wait for a core that others use in {percent(wait)}"
            found = weight, f"its threads run in {percent(run)} of the time, and {waiting}", str(row["entity"])
    return found


def _as_fast_with_less(
    table: PlaceTable,
    weight: float,
    used: float | None,
    used_by: Callable[[Facts, LoadFacts], float | None],
) -> Iterator[Evidence]:
    """Evidence that another step gave as many I/Os a second with clearly less use of the processors, or as many bytes
    with clearly fewer I/Os: then these do not hold it. It outweighs how busy they are, whose log-likelihood ratio is
    `weight`. `used`: their use, None: not known. `used_by`: that of another load."""
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
            words = f"with {of_other:.2g} of a core throughput was the same"
        elif same_bytes and fewer_ops and (used is None) == (of_other is None):
            words = f"at {iops(other.ops_per_second)} of a larger size, as many bytes were moved"
        else:
            continue
        yield Evidence(words, (_BUSY_ANYWAY if has_less else _BYTES_LIMIT) - max(0.0, weight))
        return


def _polling(table: PlaceTable, weight: float) -> Iterator[Evidence]:
    """Evidence that a thread polls: it runs while its only I/O is in the device, and for far longer than I/Os take to
    start and complete. It outweighs how busy it is, whose log-likelihood ratio is `weight`."""
    used, in_device = table.load.cpu_ratio, _time_in_device(table)
    if weight <= 0 or used is None or in_device is None or used + in_device < 1 + _RUNS_MEANWHILE:
        return
    threads, ops = threads_of(table.facts, table.load) or 1.0, table.facts.ops_per_second_in(table.load.step)
    cost_seconds = used * threads / ops
    if (deviation := log(cost_seconds / _USUAL_COST_SECONDS) / _COST_LOG_ERROR) > 0:
        words = f"it runs for {duration(cost_seconds)} an I/O, while this is in the device: it polls"
        yield Evidence(words, max(_BUSY_ANYWAY - weight, -(deviation**2) / 2))


def _holds_none(table: PlaceTable, weight: float) -> Iterator[Evidence]:
    """Evidence that all outstanding I/Os are in the block device, so that the load's threads have none to work on: a
    thread that limits has one at any time (Little's law). It outweighs how busy they are, whose log-likelihood ratio
    is `weight`."""
    configured, queues = table.load.in_flight_configured, table.queues
    if weight <= 0 or not configured or not queues:
        return
    tables = (table, *table.opposite_direction)
    in_device = sum(each.load.ops_per_second * each.seconds(range(1, len(each.segments))) for each in tables)
    held = configured - in_device + table.load.ops_per_second * queues[0].error_seconds
    if (deviation := (1 - max(0.0, held)) / _HELD_ERROR) > 0:
        words = f"{count(in_device)} of {count(configured)} outstanding I/Os are in the device: it polls"
        yield Evidence(words, max(_BUSY_ANYWAY - weight, -(deviation**2) / 2))


def _fills_device(table: PlaceTable) -> list[Evidence]:
    """Evidence of the I/Os that are in the load's block device: so many saturate most, and a generator that cannot
    keep up seldom has them there."""
    in_device = table.in_flight_below(0) if table.queues else 0.0
    return weighed(saturates_many(table, in_device), f"{count(in_device)} I/Os are in its block device")


def _by_usual_cost(ops_per_second: float) -> float:
    """Log-likelihood ratio of threads that nothing shows to be busy, by the I/Os that each of them starts."""
    busy_ratio = _USUAL_COST_SECONDS * ops_per_second
    return max(_COST_LEAST, min(_COST_MOST, _COST_WEIGHT * log(max(busy_ratio, 1e-9) / _HALF_BUSY)))


def _machine(table: PlaceTable) -> Iterator[Claim]:
    """The processors of the load's machine are busy.

    They also handle what arrives from the network. So I/Os wait for them above the array, wherever the clocks are.
    """
    busiest = max(table.machine_rows, key=lambda row: number(row, "cpu_ratio"), default=None)
    if busiest is None or busiest["cpu_ratio"] is None:
        yield from _unread_machine(table)
        return
    machine = str(busiest["entity"])
    words = f"the processors of {machine} are {percent(number(busiest, 'cpu_ratio'))} busy"
    explains = table.above_array_clock | {0}
    weight = min(_FULL_CORE, without_pause(number(busiest, "cpu_ratio")))
    evidence = [Evidence(words, weight)]
    if (measured := _in_run_queue(table, busiest, weight)) is not None:
        evidence.append(measured)
    else:
        evidence += _busy_anyway(table, busiest, "cpu_ratio", weight)
        if not follows_load(table.facts, table.load, table.same_io, machine, "cpu_ratio"):
            evidence += _hardly_waits(table, weight)
    evidence += _unused_slots(table)
    because = (f"{words}; nothing measured below it is saturated",)
    place = f"the processors of {table.facts.topology.entities[machine].label}"
    yield of_the_load("generator_limited", explains, evidence, because, prior=SELDOM, place=place, machine=machine)


def _in_run_queue(table: PlaceTable, row: FactRow, weight: float) -> Evidence | None:
    """Evidence of how long the load's threads wait for a processor. None: not read. `row`: of the host; `weight`: the
    log-likelihood ratio of how busy it is.

    It outweighs how busy they are, which others may account for: threads that mostly sleep run at once, whatever else
    runs. A thread with several I/Os outstanding never sleeps where it cannot keep up with them: it runs, or it waits.
    Where the load's own I/Os fill the processors, such a thread sleeps while the kernel works on the I/Os in batches:
    above the block device, or in the network.
    """
    waiting, ran = (cast("float | None", row[f"load_thread_{what}_ratio"]) for what in ("wait", "run"))
    if waiting is None or ran is None:
        return None
    words = f"its threads run in {percent(ran)} of the time, and wait for a processor in {percent(waiting)}"
    has_several = (table.load.in_flight_configured or 0.0) > max(1.0, threads_of(table.facts, table.load))
    if not has_several:
        return Evidence(words, min(0.0, run_queue_weight(waiting) - weight))
    fewer = less_busy_with_fewer(table.facts, table.load, table.same_io, str(row["entity"]), "cpu_ratio")
    works_on_ios = table.crosses_a_network or table.seconds({0}) >= _IN_KERNEL * table.load.latency_seconds
    if fewer is not None and weight > 0 and works_on_ios:
        words += f"; with fewer I/Os the processors were {percent(fewer)} busy"
        return Evidence(words, min(0.0, run_queue_weight(waiting / max(1 - ran, waiting, 1e-3), _USUAL_TURN)))
    return Evidence(words, min(0.0, _kept_from_cores(ran, waiting) - weight))


def _kept_from_cores(ran: float, waiting: float) -> float:
    """Log-likelihood ratio that the wait for a core limits a thread with several I/Os outstanding, by the shares of
    the time in which it runs and waits: it never sleeps. It may also take turns with what serves its I/Os, in
    batches: then it sleeps like one with a single I/O."""
    never_sleeps = (1 - _IN_BATCHES) * exp(at_limit(min(1.0, ran + waiting), _THREAD_ERROR))
    return log(never_sleeps + _IN_BATCHES * exp(run_queue_weight(waiting)))


def _hardly_waits(table: PlaceTable, weight: float) -> Iterator[Evidence]:
    """Evidence that the load's threads can wait for a processor too seldom for the processors to limit, however busy
    others keep them. `weight`: log-likelihood ratio of how busy they are, which it outweighs."""
    used = table.load.cpu_ratio
    if used is None:
        return
    if (in_device := _time_in_device(table)) is not None:
        words = f"a thread runs in {percent(used)} of the time, and its I/O is in the device in {percent(in_device)}"
        yield Evidence(words, min(0.0, run_queue_weight(max(0.0, 1 - used - in_device)) - weight))
    elif used < _FAIR_SHARE:
        # A thread that always wants to run gets its share of a core, whatever else runs.
        words = f"a process of the load wanted only {percent(used)} of a core"
        yield Evidence(words, max(_NOT_STARVED - max(0.0, weight), 2 * log(max(used, 1e-3) / _FAIR_SHARE)))


def _time_in_device(table: PlaceTable) -> float | None:
    """Share of the time in which a thread's I/O is in its block device. None: unknown, or it has several I/Os
    outstanding, or leaves its host: then processors also work below the device."""
    threads, configured = threads_of(table.facts, table.load) or 1, table.load.in_flight_configured
    if not configured or configured > threads or table.crosses_a_network or not table.queues:
        return None
    tables = (table, *table.opposite_direction)
    in_device = sum(each.load.ops_per_second * each.seconds(range(1, len(each.segments))) for each in tables)
    return min(1.0, in_device / threads)


def _unread_machine(table: PlaceTable) -> Iterator[Claim]:
    """The processors of a machine that no source reads: it may have no more than the processes of the load use."""
    threads = threads_of(table.facts, table.load)
    cores_used = _cores_used(table.facts, table.load) or 0.0
    if threads < 2 or cores_used < _LEAST_CORES_USED:
        return
    words = f"its {count(threads)} processes use {cores_used:.2g} cores together, and the machine's are not known"
    explains = table.above_array_clock | {0}
    weight = _just_as_many(cores_used)
    because = (f"{words}; nothing measured below it is saturated",)
    evidence = [Evidence(words, weight), *_as_fast_with_less(table, weight, cores_used, _cores_used)]
    machine = next(iter(table.machines), None)
    place = "the processors of its machine"
    yield of_the_load("generator_limited", explains, evidence, because, prior=SELDOM, place=place, machine=machine)


def _cores_used(facts: Facts, load: LoadFacts) -> float | None:
    """Cores that the processes of a load use together. None: they do not report it."""
    return None if load.cpu_ratio is None else threads_of(facts, load) * load.cpu_ratio


def _just_as_many(cores_used: float) -> float:
    """Log-likelihood ratio that so many cores in use are all that a machine has, over any share of them.

    Most machines have a power of two; of the others any number of processors is as probable."""
    larger = [(cores_used / cores, share / cores) for cores, share in _CORES if cores >= cores_used]
    if not larger:
        return 0.0
    of_full = sum(share * exp(-(1 - used) / _OTHERS_USE) / _OTHERS_USE for used, share in larger)
    return log(_SUCH_A_NUMBER * of_full / sum(share for _, share in larger) + 1 - _SUCH_A_NUMBER)


def _cores(table: PlaceTable) -> Iterator[Claim]:
    """One claim for each machine of the load, or host of that, with a full core while the others idle.

    It serves the interrupts of an adapter, or a thread of the I/O path. Completions wait for the core, between the
    host's last clock and the array's. What has arrived and is not read waits for a core, also where none was read.
    """
    late = table.indices("host_receive")
    gaps = table.gaps | late
    waits = [Evidence(f"data wait until the host reads them, {table.wait_words(late)}", 0.0)] if late else []
    for row in table.machine_rows:
        entity, used = str(row["entity"]), cast("float | None", row["busiest_core_ratio"])
        evidence = list(waits)
        if used is not None:
            weight = min(_FOLLOWS_LOAD if _core_follows_load(table, row) else _FULL_CORE, without_pause(used))
            # Where all processors are busy, it is not one core.
            idle_ratio = 1 - number(row, "cpu_ratio")
            if weight > 0:
                weight *= min(1.0, 2 * idle_ratio)
                weight += max(_NOT_ONE_CORE, min(0.0, log(max(idle_ratio, 1e-3) / _ALL_BUSY)))
            kept_from = _waits_for_core(table)
            if (table.load.cpu_ratio or 0.0) >= _OF_THE_LOAD or (kept_from[0] > 0 and kept_from[2] == entity):
                weight = min(0.0, weight)
            evidence.insert(0, Evidence(f"the busiest core of {entity} is at {percent(used)}", weight))
            evidence += _busy_anyway(table, row, "busiest_core_ratio", weight)
            evidence += _without_interrupts(row) if weight > 0 else []
        words = (reading.words for reading in evidence)
        because = (*words, "interrupts of an adapter, or one thread, can fill a core while the others idle")
        overturn_if = ("the same throughput while no core of the host is full",)
        conclude = conclusion_of(table, "host", because, overturn_if, waits_inside=True, utilisation=used)
        for index in sorted(late if used is None else gaps):
            gap = frozenset({index})
            yield Claim("core", entity, gap, evidence, conclude, SELDOM, group="cores", may_explain=gaps - gap)


def _core_follows_load(table: PlaceTable, row: FactRow) -> bool:
    """Whether the busiest core of a machine is busy in proportion to the load's I/Os, and not with a program."""
    interrupts = cast("float | None", row["busiest_core_interrupt_ratio"])
    by_program = interrupts is not None and interrupts <= _USUAL_INTERRUPTS
    return not by_program and follows_load(
        table.facts, table.load, table.same_io, str(row["entity"]), "busiest_core_ratio"
    )


def _without_interrupts(row: FactRow) -> list[Evidence]:
    """Evidence of how much of the busiest core's time interrupts take: a program fills it if they take little."""
    share = cast("float | None", row["busiest_core_interrupt_ratio"])
    if share is None:
        return []
    by_interrupts = 2 * share
    by_program = exp(-share / _USUAL_INTERRUPTS) / _USUAL_INTERRUPTS
    limiting = _BY_INTERRUPTS * by_interrupts + (1 - _BY_INTERRUPTS) * by_program
    words = f"interrupts take {percent(share)} of its busy time"
    return [Evidence(words, min(0.0, log(limiting / by_program)))]


def _busy_anyway(table: PlaceTable, row: FactRow, fact: str, weight: float) -> list[Evidence]:
    """Evidence that I/Os do not fill a processor. It outweighs how busy it is, whose log-likelihood ratio is
    `weight`. `row`: of the host in this step."""
    if weight <= 0:
        return []
    share, words = busy_anyway(table.facts, table.load, table.same_io, str(row["entity"]), fact)
    return [Evidence(words, share * (_BUSY_ANYWAY - weight))] if words else []


def _unused_slots(table: PlaceTable) -> list[Evidence]:
    """Evidence of unused I/Os in flight: a generator that cannot keep up leaves some unused with even odds."""
    if table.in_flight_ratio is None:
        return []
    others = density_of_others(table.in_flight_ratio, table.blocked_ratio)
    weight = log(0.5 + 0.5 * others) - log(others)
    words = f"{percent(table.in_flight_ratio)} of the configured I/Os are outstanding"
    if table.load.in_flight_configured is None:
        words = "at times no I/O is outstanding"
    return [Evidence(words, weight)]
