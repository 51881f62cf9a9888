"""Computes the facts of the load from samples of its jobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from math import sqrt

import numpy as np

from sanpath.facts.load.access import access_of
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.cumulative import cumulative_work
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import DIRECTIONS, START, Direction, Step, StepLoad
from sanpath.topology.paths import hosts_of, load_of_job, luns_of
from sanpath.topology.topology import Topology

_COMPARABLE = (
    "",
    START,
    "repeat",
    "more_in_flight",
    "fewer_in_flight",
    "one_in_flight",
    "knee",
    "objective",
)
"""Experiments of a probe that change nothing, or only the number of I/Os in flight."""
_MOST_RATIO = 0.45
"""Share of the I/Os in flight from which some jobs determine how a load waits, about half, as windows differ:
sanpath's own choice."""
_TOGETHER_RATIO = 0.8
"""Jobs ran together if each was active for this share of the time in which any was: windows of their counters do not
begin and end together."""


def load_facts(topology: Topology, steps: Sequence[Step], samples: Sequence[StepSamples]) -> list[LoadFacts]:
    """Return one entry for each step and direction in which I/Os completed."""
    jobs = {step.name: [s for s in samples if s.step == step.name and runs_in(s, step)] for step in steps}
    loads = (_load_of_direction(topology, step, d, jobs[step.name]) for step in steps for d in DIRECTIONS)
    return [load for load in loads if load is not None]


def load_facts_of(
    topology: Topology, step: Step, direction: Direction, samples: Sequence[StepSamples], entity: str
) -> LoadFacts | None:
    """Return the facts of one load, or of one of its jobs, in a step. None: none of its I/Os completed."""
    jobs = [
        sample
        for sample in samples
        if sample.step == step.name
        and runs_in(sample, step)
        and entity in (_root(topology, sample), topology.known_as.get((sample.source, "load", sample.entity)))
    ]
    return _load_of_direction(topology, step, direction, jobs)


def runs_in(sample: StepSamples, step: Step) -> bool:
    """Return whether a job belongs to the step that it was sampled in."""
    return not step.loads or reported_settings(sample, step) is not None


def reported_settings(sample: StepSamples, step: Step) -> StepLoad | None:
    """Return the settings that a job's source reports for its loads in the step. None: there are none."""
    of_source = (load for load in step.loads if load.source == sample.source)
    return next((load for load in of_source if not load.entities or sample.entity in load.entities), None)


def _slowest(seconds: Sequence[float | None]) -> float | None:
    """Return the slowest I/O of several jobs. None: one of them does not report it."""
    return None if None in seconds else max(value for value in seconds if value is not None)


def _load_of_direction(
    topology: Topology, step: Step, direction: Direction, jobs: Sequence[StepSamples]
) -> LoadFacts | None:
    with_latency = [
        (job, latency) for job in jobs if (latency := _latency(job, direction, step, len(jobs))) is not None
    ]
    active = [job for job, _ in with_latency]
    if not active:
        return None
    operations = sum(_rate(job, "ops", direction) for job in active)
    wait, low, high = (
        sum(_rate(job, "ops", direction) * seconds[index] for job, seconds in with_latency) for index in range(3)
    )
    single_job = active[0].last_values if len(active) == 1 else {}
    entities = tuple(job_entity(topology, job) for job in active)
    byte_rate = sum(_rate(job, "bytes", direction) for job in active)
    summaries = list(_summaries(step))
    series = [job for job in active if job.source not in {source for source, _ in summaries}]
    shares = _shares_of_time(step, jobs)
    of_windows, latency_of_windows = _series(series, direction)
    return LoadFacts(
        roots=tuple(dict.fromkeys(_root(topology, job) for job in active)),
        step=step.name,
        direction=direction,
        windows=min((job.windows for job in series), default=1),
        ops_per_second=operations,
        bytes_per_second=byte_rate or operations * (step.block_bytes or 0),
        latency_seconds=wait / operations,
        in_flight_configured=_offered(jobs, shares) if step.offered is None else step.offered,
        in_flight_measured=wait,
        cpu_ratio=max((cpu for job in active if (cpu := job.means.get("cpu_ratio")) is not None), default=None),
        p50_seconds=single_job.get(f"latency_seconds_p50_{direction}"),
        p95_seconds=single_job.get(f"latency_seconds_p95_{direction}"),
        p99_seconds=single_job.get(f"latency_seconds_p99_{direction}"),
        slowest_seconds=_slowest([job.last_values.get(f"latency_seconds_max_{direction}") for job in active]),
        throughput_spread=_spread(series, direction) if len(series) == len(active) else None,
        latency_interval=(low / operations, high / operations) if high > low else None,
        summary=len(series) < len(active),
        jobs=entities,
        series=of_windows,
        latency_series=latency_of_windows,
        summary_seconds=min((seconds for _, seconds in summaries), default=None),
        variation="" if step.experiment in _COMPARABLE else step.experiment,
        access=access_of(topology, [(job_entity(topology, job), reported_settings(job, step)) for job in active]),
        flushes_in_flight=sum(job.rate("latency_seconds_flush_total") or 0.0 for job in jobs),
        metadata_in_flight=sum(job.rate("latency_seconds_metadata_total") or 0.0 for job in jobs),
        active_ratio=_active_ratio(jobs, shares),
        tail_shares=tuple(_tail_shares(with_latency, direction)),
        is_mean_of_both=all(_is_mean_of_both(job) for job in active),
        unlimited_ratio=_unlimited_ratio(topology, step, jobs),
        throughput_deviation_ratio=single_job.get(f"throughput_deviation_ratio_{direction}"),
        throughput_max_ratio=single_job.get(f"throughput_max_ratio_{direction}"),
        failed_operations=_failed(jobs),
        latency_of_targets=_latency_of_targets(topology, with_latency, direction),
    )


def _latency_of_targets(
    topology: Topology, with_latency: Sequence[tuple[StepSamples, tuple[float, float, float]]], direction: Direction
) -> dict[tuple[str, ...], float]:
    """Return the mean latency of the I/Os at each target, as of LoadFacts."""
    operations: dict[tuple[str, ...], float] = defaultdict(float)
    waits: dict[tuple[str, ...], float] = defaultdict(float)
    for job, (seconds, *_) in with_latency:
        entity, root = job_entity(topology, job), _root(topology, job)
        luns = luns_of(topology, entity) or luns_of(topology, root)
        targets = tuple(sorted(luns or hosts_of(topology, entity) or hosts_of(topology, root)))
        if not targets:
            return {}
        operations[targets] += _rate(job, "ops", direction)
        waits[targets] += _rate(job, "ops", direction) * seconds
    return {targets: waits[targets] / done for targets, done in operations.items()}


def _failed(jobs: Sequence[StepSamples]) -> float | None:
    """Return how many I/Os of the jobs failed. None: no failure is known, and not all jobs count them."""
    rates = [(job.rate("ops_failed_total"), job.length_seconds) for job in jobs]
    failed = round(sum(rate * seconds for rate, seconds in rates if rate is not None))
    return float(failed) if failed or all(rate is not None for rate, _ in rates) else None


def _unlimited_ratio(topology: Topology, step: Step, jobs: Sequence[StepSamples]) -> float | None:
    """Return the I/Os in flight of a load's jobs without a rate, as in LoadFacts."""
    held, offered = {True: 0.0, False: 0.0}, {True: 0.0, False: 0.0}
    for job in jobs:
        entity = topology.entities.get(job_entity(topology, job))
        is_limited = entity.attributes.get("rate_limited") if entity is not None else None
        configured = _configured(job)
        latencies = [(d, _latency(job, d, step, len(jobs))) for d in DIRECTIONS]
        if not isinstance(is_limited, bool) or configured is None:
            return None
        held[is_limited] += sum(_rate(job, "ops", d) * seconds[0] for d, seconds in latencies if seconds is not None)
        offered[is_limited] += configured
    is_mixed = offered[True] > 0 and offered[False] > 0
    return held[False] / offered[False] if is_mixed and held[False] >= _MOST_RATIO * sum(held.values()) else None


def job_entity(topology: Topology, job: StepSamples) -> str:
    """Return the entity of a job; of one without, the name that it would have."""
    return topology.known_as.get((job.source, "load", job.entity), f"load:{job.entity}")


def _summaries(step: Step) -> Iterator[tuple[str, float]]:
    """Yield each source whose load reports a single figure, with the seconds that it covers."""
    for load in step.loads:
        if load.summary_window is not None:
            yield load.source, (load.summary_window[1] - load.summary_window[0]) / 1e6


def _tail_shares(
    with_latency: Sequence[tuple[StepSamples, tuple[float, float, float]]], direction: Direction
) -> Iterator[tuple[float, float]]:
    """Yield the time of each job's slowest I/Os: the total less that of the others, none of which takes longer than
    the percentile."""
    for part, percentile in ((0.95, "p95"), (0.99, "p99")):
        total = others = 0.0
        for job, (mean_seconds, *_) in with_latency:
            seconds = job.last_values.get(f"latency_seconds_{percentile}_{direction}")
            if seconds is None:
                break
            operations = _rate(job, "ops", direction)
            total += operations * mean_seconds
            others += operations * part * seconds
        else:
            if total:
                yield 1 - part, 1 - others / total


def _rate(job: StepSamples, counter: str, direction: Direction) -> float:
    return job.rate(f"{counter}_{direction}_total") or 0.0


def _latency(job: StepSamples, direction: Direction, step: Step, jobs: int) -> tuple[float, float, float] | None:
    """Return the mean latency of a job's I/Os and its bounds, seconds. None: no I/O, or the latency is not known. If
    the mean is missing or truncated to whole units, a closed loop still gives it: R = N / X (Little's law)."""
    operations = _rate(job, "ops", direction)
    if not operations:
        return None
    if wait := job.rate(
        f"latency_seconds_{direction}_total"
    ):  # 0: it was not measured, because no I/O takes no time.
        return (wait / operations,) * 3
    gauge = f"latency_seconds_mean_{direction}"
    floor, resolution = job.means.get(gauge), job.resolutions.get(gauge, 0.0)
    in_flight = _configured(job) or (step.offered if jobs == 1 else None)
    closed_loop = (
        in_flight / sum(_rate(job, "ops", each) for each in DIRECTIONS)
        if in_flight and not step.rate_limited
        else None
    )
    if floor is None:
        return (closed_loop,) * 3 if closed_loop is not None else None
    if closed_loop is None:
        return floor + resolution / 2, floor, floor + resolution
    # No more I/Os are in flight than were configured: the mean is at most N / X.
    highest = min(max(closed_loop, floor), floor + resolution)
    return highest, floor, highest


def _is_mean_of_both(job: StepSamples) -> bool:
    """Whether a job reads and writes, and reports the latency of neither."""
    both = all(_rate(job, "ops", direction) for direction in DIRECTIONS)
    timed = (f"latency_seconds_{direction}_total" for direction in DIRECTIONS)
    means = (f"latency_seconds_mean_{direction}" for direction in DIRECTIONS)
    return both and not any(map(job.rate, timed)) and not any(map(job.means.get, means))


def _spread(jobs: Sequence[StepSamples], direction: Direction) -> float | None:
    """Return the relative standard error of the jobs' throughput over their windows, each by its length: operations
    over seconds are a ratio of two sums (Cochran, Sampling Techniques, 1977, section 6.4). None: too few windows."""
    if not jobs:
        return None
    rates_of_jobs = [job.rates.get(f"ops_{direction}_total", ()) for job in jobs]
    windows = [
        (sum(rates), seconds)
        for seconds, *rates in zip(jobs[0].seconds, *rates_of_jobs, strict=False)
        if None not in rates
    ]
    total = sum(seconds for _, seconds in windows)
    average = sum(rate * seconds for rate, seconds in windows) / total if total else 0.0
    if len(windows) < 2 or not average:
        return None
    squares = sum((seconds / total * (rate - average)) ** 2 for rate, seconds in windows)
    return sqrt(squares * len(windows) / (len(windows) - 1)) / average


def _series(
    jobs: Sequence[StepSamples], direction: Direction
) -> tuple[tuple[tuple[float, float], ...], tuple[tuple[float, float], ...]]:
    """Return throughput and latency of each window.

    Of several jobs, the windows are those of the job with the fewest."""
    if not jobs:
        return (), ()
    if len(jobs) > 1:
        return _series_together(jobs, direction)
    job = jobs[0]
    operations, wait_series = (
        job.rates.get(f"{counter}_{direction}_total", ()) for counter in ("ops", "latency_seconds")
    )
    windows = list(zip(operations, wait_series, job.seconds, strict=False))
    return (
        _while_active((ops, seconds) for ops, _, seconds in windows if ops is not None),
        tuple((wait / ops, seconds) for ops, wait, seconds in windows if ops and wait is not None),
    )


def _while_active(windows: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return the windows from the first to the last with completed I/Os. Windows in between in which all I/O stalled
    count too."""
    found = list(windows)
    active = [index for index, (ops, _) in enumerate(found) if ops]
    return tuple(found[active[0] : active[-1] + 1]) if active else ()


def _series_together(
    jobs: Sequence[StepSamples], direction: Direction
) -> tuple[tuple[tuple[float, float], ...], tuple[tuple[float, float], ...]]:
    fewest = min((job for job in jobs if job.ended_us), key=lambda job: len(job.ended_us), default=None)
    if fewest is None:
        return (), ()
    limits = np.array(
        [fewest.ended_us[0] / 1e6 - fewest.seconds[0], *(ended_us / 1e6 for ended_us in fewest.ended_us)]
    )
    work, wait_work = cumulative_work(jobs, f"ops_{direction}"), cumulative_work(jobs, f"latency_seconds_{direction}")
    if work is None or not np.all(np.diff(limits) > 0):
        return (), ()
    lengths, operations = np.diff(limits).tolist(), work.rates(limits).tolist()
    wait_rates = wait_work.rates(limits).tolist() if wait_work is not None else []
    windows = zip(operations, wait_rates, lengths, strict=False)
    return (
        _while_active(zip(operations, lengths, strict=True)),
        tuple((wait / ops, seconds) for ops, wait, seconds in windows if ops),
    )


def _offered(jobs: Sequence[StepSamples], shares: Sequence[float] | None) -> float | None:
    """Return the I/Os that jobs may keep in flight together. None: unknown for one of them, or they did not run
    together. `shares`: as in _shares_of_time."""
    configured = [of_job for job in jobs if (of_job := _configured(job)) is not None]
    if len(configured) < len(jobs) or (len(jobs) > 1 and (shares is None or min(shares) < _TOGETHER_RATIO)):
        return None
    return sum(configured)


def _active_ratio(jobs: Sequence[StepSamples], shares: Sequence[float] | None) -> float:
    """Return the share of the configured I/Os that the jobs could keep in flight, on average over the step.

    `shares`: as of _shares_of_time.
    """
    configured = [of_job for job in jobs if (of_job := _configured(job)) is not None]
    weights = configured if len(configured) == len(jobs) and any(configured) else [1.0] * len(jobs)
    return sum(w * share for w, share in zip(weights, shares, strict=True)) / sum(weights) if shares else 1.0


def _shares_of_time(step: Step, jobs: Sequence[StepSamples]) -> list[float] | None:
    """Return each job's share of the time from the first I/O of any job to the last one. None: not known for one of
    them. A source's single figure is a mean over the time of its own jobs."""
    single = {load.source for load in step.loads if load.summary_window is not None}
    spans: list[tuple[str, float, float]] = []
    for job in jobs:
        rates = [job.rates[counter] for d in DIRECTIONS if (counter := f"ops_{d}_total") in job.rates]
        windows = zip(job.ended_us, job.seconds, zip_longest(*rates), strict=False)
        active = [(ended_us - seconds * 1e6, ended_us) for ended_us, seconds, of_window in windows if any(of_window)]
        if not active:
            return None
        spans.append((job.source if job.source in single else "", active[0][0], active[-1][1]))
    together: dict[str, tuple[float, float]] = {}
    for source, begin, end in spans:
        first, last = together.get(source, (begin, end))
        together[source] = min(first, begin), max(last, end)
    lengths_us = {source: (end - begin) or 1.0 for source, (begin, end) in together.items()}
    return [(end - begin) / lengths_us[source] for source, begin, end in spans]


def _configured(job: StepSamples) -> float | None:
    """Return the mean number of I/Os that a job may keep in flight (a ramp raises it). None: unknown."""
    mean = job.means.get("in_flight_configured")
    return mean if mean is not None else job.last_values.get("in_flight_configured")


def _root(topology: Topology, job: StepSamples) -> str:
    """Return the load that a job belongs to."""
    return load_of_job(topology, job_entity(topology, job))
