"""Reads and judges a recording for a snapshot."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache

from sanpath.diagnosis.model import Diagnosis
from sanpath.errors import SanpathError
from sanpath.explanation.coverage import iso
from sanpath.facts.chart_series import Series, series
from sanpath.model import Poll
from sanpath.pulse.model import Freshness
from sanpath.pulse.pulses import FLUSH_DELAY_SECONDS, MAX_MISSED
from sanpath.recording.reading.recording import Recording
from sanpath.recording.reading.sample_cache import SampleCache
from sanpath.recording.storage.store import Location
from sanpath.rulebook.model import Rule
from sanpath.rulebook.site.options import Choice
from sanpath.rulebook.site.settings import Site, rules_of
from sanpath.topology.load_path import Stop, io_path
from sanpath.views.live.reading.priority import processors
from sanpath.views.live.reading.snapshot import Snapshot

LIVE_SECONDS = 3600.0
"""A snapshot reads the last hour, so that its time and memory do not grow with the length of the run."""


@cache
def _rulebook(choice: Choice) -> tuple[Sequence[Rule], Site]:
    """Load the rules once: parsing them costs as much as judging a minute of a test."""
    return rules_of(choice)


def prepare(choice: Choice) -> None:
    """Load what every snapshot needs before a load starts that would miss the processor time."""
    import sanpath.diagnose  # noqa: F401

    with suppress(SanpathError):  # The first snapshot reports the error.
        _rulebook(choice)


def read_snapshot(
    folder: Location, choice: Choice | None = None, previous: Snapshot | None = None, cache: SampleCache | None = None
) -> Snapshot:
    """Read and judge the last hour of a recording, finished or growing.

    Errors are reported in `failure`: the next snapshot may succeed. `previous`: the last snapshot; results of older
    steps are taken from it. `cache`: see Recording.
    """
    from sanpath.diagnose import (  # Only the reader process judges; the screen shows snapshots.
        conclude,
        judge_recording,
        without_garbage_collection,
    )

    taken, began, machine = time.time(), time.process_time(), processors()
    earlier = previous.machine if previous is not None else None
    idle_ratio = machine.idle_since(earlier) if machine is not None and earlier is not None else None
    try:
        recording = Recording(folder, LIVE_SECONDS, cache)
        rules, site = _rulebook(choice or Choice())

        def judged() -> tuple[Diagnosis, Series, Sequence[Stop]]:
            facts, judgements = judge_recording(recording, over_time=True)
            diagnosis = conclude(recording, facts, judgements, rules, site)
            return diagnosis, series(recording, facts.topology, facts), io_path(facts.topology)

        # Recorders write every five seconds: nothing new can be judged in between.
        with without_garbage_collection():
            diagnosis, lines, path = recording.remembered("diagnosis", (recording.state(), choice), judged)
        polls = recording.polls()
        return Snapshot(
            taken,
            _add_older_steps(diagnosis, previous, recording.since_us),
            ended=recording.ended,
            newest=max((poll.ended for poll in polls), default=0) / 1e6,
            command=tuple(recording.load_command),
            freshness=_freshness(recording, polls, taken),
            series=lines,
            io_path=path,
            cost_seconds=time.process_time() - began,
            machine=machine,
            idle_ratio=idle_ratio,
        )
    except SanpathError as error:
        failure = str(error)
    except Exception as error:  # a defect in a rule or a view of the data must not end the view of the run
        failure = f"{type(error).__name__}: {error}"
    cost = time.process_time() - began
    return Snapshot(taken, None, failure, cost_seconds=cost, machine=machine, idle_ratio=idle_ratio)


def _add_older_steps(diagnosis: Diagnosis, previous: Snapshot | None, since_us: int | None) -> Diagnosis:
    """The diagnosis with the earlier results of steps whose samples are no longer read.

    `since_us`: start of the samples that are read, None: all are read.
    """
    if since_us is None or previous is None or previous.diagnosis is None:
        return diagnosis
    older = {(step.name, step.start): step for step in previous.diagnosis.steps if step.end < iso(since_us)}
    return replace(diagnosis, steps=tuple(older.get((step.name, step.start), step) for step in diagnosis.steps))


def _freshness(recording: Recording, polls: Iterable[Poll], taken: float) -> dict[str, Freshness]:
    answered = {poll.source: poll.ended / 1e6 for poll in polls if poll.outcome in ("ok", "partial")}
    freshness = {}
    for source in recording.declarations:
        age_seconds = max(0.0, taken - answered.get(source.name, recording.started_us / 1e6))
        late = age_seconds > MAX_MISSED * source.every_seconds + FLUSH_DELAY_SECONDS
        freshness[source.name] = Freshness(
            source.every_seconds, age_seconds if source.name in answered else None, late
        )
    return freshness
