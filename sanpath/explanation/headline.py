"""The verdict in one sentence for people, with its reason: `verdict.headline`, for JSON, JUnit and tables of systems.

The title of a report and its first screen are shorter lines: summary/verdict_line.py and summary/consequence.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sanpath.diagnosis.model import Bottleneck, Cleared, Verdict
from sanpath.explanation.in_flight import little, throughput
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import FLAT
from sanpath.facts.storage.load_volumes import SHARED
from sanpath.facts.table import FactRow, number
from sanpath.topology.names import short_name
from sanpath.units import bandwidth, first_of, iops, join_names, outstanding, percent
from sanpath.verdict.model import Judgement
from sanpath.verdict.places.scaling import same_io
from sanpath.verdict.run_verdict import judgement_of_run, limits_of_other_direction

_SENTENCES = {
    "lun": "{entity} is the limit: {because}; {latency}.",
    "io_thread": "A thread of the hypervisor is saturated: {every_reason}; {latency}.",
    "io_stack": "I/Os wait in {entity}: {because}; {law}.",
    "pcie": "The PCIe lanes of {entity} are saturated: {because}; {latency}.",
    "tcp_window": "A TCP window of {entity} is full: {because}; {latency}.",
    "retries": "{entity} loses frames, and their I/Os are sent again: {because}; {law}.",
    "data_sheet": "A limit that was entered by hand is reached: {because}; {latency}.",
}
"""Headlines of bottleneck kinds that need no case distinction."""
_NAMED = 2
"""Number of places that are named, of several of which one limits."""
_MOSTLY_FOREIGN_RATIO = 0.5
"""Share of a link's bytes from which other I/O is said to fill the link."""


def with_headline(
    facts: Facts, judgements: Sequence[Judgement], verdict: Verdict, cleared: Sequence[Cleared]
) -> Verdict:
    """The verdict with its headline. A verdict without any judgement is unchanged: its headline already gives the
    reason."""
    if not judgements:
        return verdict
    judgement = judgement_of_run(facts, judgements)
    alike = (judgement.load, *same_io(facts.loads, judgement.load))
    of_same_io = [j for j in judgements if j.load in alike]
    opposite = limits_of_other_direction(facts, judgements, judgement)
    return replace(verdict, headline=_headline(facts, judgement, of_same_io, opposite, cleared))


def _headline(
    facts: Facts,
    judgement: Judgement,
    same_io: Sequence[Judgement],
    opposite: Sequence[Judgement],
    cleared: Sequence[Cleared],
) -> str:
    """The verdict in one sentence.

    `same_io`: judgements of the same I/O in every step. `opposite`: the other direction of this step, if it is
    saturated as well.
    """
    load = judgement.load
    rate, law = throughput(facts, load), little(facts, load)
    match judgement.kind:
        case "bottleneck":
            return _bottleneck_headline(facts, judgement, same_io, opposite, cleared, law)
        case "concurrency_limited":
            return f"The test has too few outstanding I/Os: {law}; {judgement.first_reason}."
        case "demand_limited":
            return f"The load asked for no more than {rate}: {judgement.first_reason}."
        case "healthy":
            return f"The requested rate is met with headroom: {judgement.first_reason}; nothing is near its limit."
        case "configured_cap":
            return f"A configured limit caps the test at {rate}: {judgement.first_reason}."
        case "generator_limited":
            return f"The load generator is the limit: {judgement.first_reason}."
        case _:
            return f"The limit at {rate} was not found: {judgement.first_reason}."


def _bottleneck_headline(
    facts: Facts,
    judgement: Judgement,
    same_io: Sequence[Judgement],
    opposite: Sequence[Judgement],
    cleared: Sequence[Cleared],
    law: str,
) -> str:
    load, bottleneck = judgement.load, judgement.bottlenecks[0]
    calm = min(same_io, key=lambda j: j.load.in_flight_measured).load
    latency = f"the latency is time in the load's own queue: {law}"
    if calm.step != load.step and abs(calm.ops_per_second / load.ops_per_second - 1) <= FLAT:
        latency += f", and throughput is the same with {outstanding(calm.in_flight_measured)}"
    if (sentence := _SENTENCES.get(bottleneck.kind)) is not None:
        every = "; ".join(bottleneck.because)
        places = bottleneck.elements if bottleneck.is_one_of_several else (bottleneck.entity,)
        entity = first_of(places, _NAMED, " or ")
        return sentence.format(
            entity=entity, because=bottleneck.because[0], every_reason=every, latency=latency, law=law
        )
    if bottleneck.kind == "core":
        state = (
            "is slow to read received data" if bottleneck.utilisation is None else "has a saturated processor core"
        )
        return f"{bottleneck.entity} {state}: {bottleneck.because[0]}; {latency}."
    if bottleneck.kind == "path_policy":
        opening = "The paths are used one after the other" if bottleneck.coincident else "The wrong paths are used"
        policies = [row["one_path_policy"] for row in facts.tables["multipath"].select(step=load.step)]
        if bottleneck.coincident and policies and all(policies):
            opening = "One path is used at a time"
        return f"{opening}: {bottleneck.because[0]}; {latency}."
    if bottleneck.kind == "credit_stall":
        culprit = bottleneck.culprit or bottleneck.entity
        return f"{culprit} limits the test to {throughput(facts, load)}: {'; '.join(bottleneck.because)}."
    if bottleneck.kind != "link":
        if bottleneck.slows_below(load.ops_per_second):
            slow = iops(bottleneck.ceiling_ops_per_second or 0.0)
            words = f"slows down and then limits the test to {slow} in the {load.direction} direction"
            return f"{bottleneck.entity} {words}: {bottleneck.because[0]}."
        direction_words = f"{load.direction} direction at {throughput(facts, load)}"
        when = f" for {percent(ratio)} of the time" if (ratio := bottleneck.time_ratio) is not None else ""
        return f"{bottleneck.entity} is saturated in the {direction_words}{when}; {latency}."
    rows = facts.tables["link"].select(step=load.step, direction=bottleneck.direction, entity=bottleneck.entity)
    is_counted = bool(rows) and rows[0]["utilisation"] is not None
    sentence = _link_sentence(bottleneck, rows[0]) if is_counted else _uncounted_link_sentence(bottleneck)
    for other in opposite:
        element = "it" if other.limiter == judgement.limiter else f"{other.limiter}"
        sentence += f"; in the {other.load.direction} direction {element} is saturated as well"
    if rows and (foreign := number(rows[0], "foreign_ratio")) > _MOSTLY_FOREIGN_RATIO:
        return f"{sentence}; {percent(foreign)} of its bytes are not the test's: other I/O fills it; {law}."
    if rows and (foreign := number(rows[0], "foreign_ratio")) > SHARED:
        available = bottleneck.ceiling_bytes_per_second
        sentence += f"; {percent(foreign)} of its bytes are not the test's"
        sentence += f" and leave the test {bandwidth(available)} of payload" if available else ""
    array = next((c for c in cleared if c.entity.startswith(("array:", "volume:"))), None)
    up_to = array.up_to.get("bytes_per_second") if array is not None else None
    cleared_words = (
        f"; {array.entity} is cleared up to {bandwidth(up_to)} of payload" if array is not None and up_to else ""
    )
    return f"{sentence}; {latency}{cleared_words}."


def _link_sentence(bottleneck: Bottleneck, row: FactRow) -> str:
    link = f"The {row['speed']} link {short_name(bottleneck.entity)}"
    if bottleneck.time_ratio is not None:
        when = f"for {percent(bottleneck.time_ratio)} of the time"
        sentence = f"{link} is saturated in the {bottleneck.direction} direction {when}: {bottleneck.because[0]}"
        return sentence + _coincident_words(bottleneck)
    sentence = (
        f"{link} is saturated in the {bottleneck.direction} direction: "
        f"{bandwidth(number(row, 'bytes_per_second'))} counted of "
        f"{bandwidth(number(row, 'capacity_bytes_per_second'))}, {percent(number(row, 'utilisation'))}"
    )
    return sentence + _coincident_words(bottleneck)


def _uncounted_link_sentence(bottleneck: Bottleneck) -> str:
    if bottleneck.is_one_of_several:
        names = first_of([short_name(entity) for entity in bottleneck.elements], _NAMED, " or ")
        return f"One of {len(bottleneck.elements)} links is saturated, {names}: {bottleneck.because[0]}"
    link = f"The link {short_name(bottleneck.entity)}"
    sentence = f"{link} is saturated in the {bottleneck.direction} direction, judging by its speed"
    return f"{sentence}{_coincident_words(bottleneck)}: {bottleneck.because[0]}"


def _coincident_words(bottleneck: Bottleneck) -> str:
    names = [short_name(entity) for entity in bottleneck.coincident]
    if not names:
        return ""
    verb = "is" if len(names) == 1 else "are"
    return f", and so {verb} {join_names(names)}"
