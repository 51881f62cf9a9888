"""Computes the pulse from the newest items of the recorders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.load.loads_from_samples import load_facts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import Step
from sanpath.pulse.busiest import busiest_links
from sanpath.pulse.link_counters import WiredLink
from sanpath.pulse.model import Freshness, LinkNow, Pulse
from sanpath.pulse.newest import PORTS, Newest
from sanpath.pulse.poll_rounds import NOW
from sanpath.recording.format.documents import Declaration
from sanpath.topology.topology import Topology

MAX_MISSED = 3.0
"""Intervals without a sample until a source is late: sanpath's own choice, one poll lost and one late."""
FLUSH_DELAY_SECONDS = 6.0
"""The recorder flushes every five seconds: newer samples are not in its segments yet."""
SLACK_SECONDS = 1.0
"""Allowance for the duration of a poll."""


class Pulses:
    """The successive pulses of a run, from the content of `newest`."""

    def __init__(self, newest: Newest) -> None:
        self._newest = newest
        self._busiest: tuple[int, Sequence[WiredLink], list[LinkNow]] | None = None
        self._last: tuple[int, list[LoadFacts], int, int] = (0, [], 0, 0)

    def pulse(
        self,
        now_us: int,
        started_us: int,
        sources: Sequence[Declaration],
        wiring: Sequence[WiredLink] = (),
        live: bool = True,
    ) -> Pulse:
        """Return the current pulse. `now_us` and `started_us` are on the recorder's clock; `live`: see Pulse."""
        running_step = self._newest.marks.unfinished(now_us)
        elapsed, ages = (now_us - started_us) / 1e6, self._ages(now_us, sources, live)
        current = Pulse(elapsed, links=self._links(wiring), ages=ages, live=live)
        if running_step is None:
            if (last := self._newest.marks.last_ended()) is None:
                return current
            ended, name = last
            idle_seconds = max(0.0, (now_us - ended) / 1e6)
            return replace(current, last_step=name, last_step_ended_us=ended, idle_seconds=idle_seconds)
        began, step = running_step
        current = replace(
            current,
            step=step.name,
            step_seconds=(now_us - began) / 1e6,
            step_planned_seconds=step.planned_seconds,
            step_why=step.why,
        )
        samples = list(self._load_samples(step, began))
        if facts := load_facts(Topology(), [replace(step, name=NOW)], samples):  # By the formulas for a step.
            ended = max(sample.ended_us[0] for sample in samples)
            window = min(sample.ended_us[0] - round(1e6 * sample.seconds[0]) for sample in samples)
            self._last = began, facts, window, ended
        if self._last[0] != began:
            return current
        # Counters that restart at the end of a ramp give no window at first: the last facts remain valid.
        _, facts, window, ended = self._last
        age = max(0.0, (now_us - ended) / 1e6)
        return replace(current, loads=facts, began_us=window, ended_us=ended, loads_age_seconds=age)

    def _load_samples(self, step: Step, since_us: int) -> Iterator[StepSamples]:
        for source, rounds in self._newest.rounds("load").items():
            loads = [load for load in step.loads if load.source == source]
            if step.loads and not loads:
                continue
            entities = {entity for load in loads for entity in load.entities}
            for entity in rounds.entities():
                sample = rounds.samples(source, entity, since_us) if not entities or entity in entities else None
                if sample is not None:
                    yield sample

    def _links(self, wiring: Sequence[WiredLink]) -> list[LinkNow]:
        """Return the busiest links, computed again after their ports have been polled or the wiring has changed."""
        taken = self._newest.ports_taken
        if self._busiest is None or self._busiest[0] != taken or self._busiest[1] is not wiring:
            self._busiest = taken, wiring, busiest_links(wiring, self._newest.rounds(PORTS))
        return self._busiest[2]

    def _ages(self, now_us: int, sources: Sequence[Declaration], live: bool) -> dict[str, Freshness]:
        freshness, delay_seconds = {}, 0.0 if live else FLUSH_DELAY_SECONDS
        for source in sources:
            answer = self._newest.answers.get(source.name)
            age = max(0.0, (now_us - answer.ended) / 1e6) if answer is not None else None
            late = age is not None and age > MAX_MISSED * source.every_seconds + max(delay_seconds, SLACK_SECONDS)
            freshness[source.name] = Freshness(source.every_seconds, age, late)
        return freshness
