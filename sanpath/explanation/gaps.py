"""Which parts of the setup are not read, or read only in part, and what is missing because of that.

A rule that could not be judged is a gap of the part whose source would report its facts. Rules about elements that
this setup does not have, such as cloud limits, are not gaps.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from sanpath.catalogue.catalogue import Condition, Part, parts
from sanpath.diagnosis.model import Unobserved
from sanpath.facts.facts import Facts
from sanpath.facts.sources import parts_read
from sanpath.facts.table import FactTable
from sanpath.model import DIRECTIONS, Poll
from sanpath.recording.reading.recording import Recording
from sanpath.rulebook.judge import not_judged, rule_condition
from sanpath.rulebook.model import Finding, Rule
from sanpath.topology.topology import Topology
from sanpath.units import first_of, join_names

_STEPS_PART = "steps"
_PARTIALLY_REPORTED = "did not report all of it"
_MAX_NAMED = 5
"""Largest number of sources, and of missing items, that are named; the others are counted."""
_UNIT = re.compile(r"_per_(second|minute)|_(seconds|ratio|bytes)$")


@dataclass(slots=True)
class _UnreadPart:
    """The items that an unread part does not report, in words, and the rules that need them."""

    missing: dict[str, None] = field(default_factory=dict)
    rules: dict[str, None] = field(default_factory=dict)


def with_gaps(
    unobserved: Sequence[Unobserved],
    recording: Recording,
    polls: Sequence[Poll],
    facts: Facts,
    rules: Sequence[Rule],
    tables: Mapping[str, FactTable],
    findings: Sequence[Finding],
) -> tuple[Unobserved, ...]:
    """The unobserved parts, with one entry for each part of the setup without the facts that rules need.

    An existing entry about the same part gets the rules. `findings`: include those that could not be judged.
    """
    sources = _sources(recording)
    failed = {poll.source for poll in polls} - {poll.source for poll in polls if poll.outcome in ("ok", "partial")}
    idle = set(DIRECTIONS) - {load.direction for load in facts.loads}
    known, gaps = list(unobserved), []
    for name, gap in _unread_parts(facts.topology, rules, tables, findings, sources, idle).items():
        part, ids = parts().parts[name], tuple(sorted(gap.rules))
        missing = [words for words in gap.missing if words not in {entry.what for entry in known}]
        number = next((number for number, entry in enumerate(known) if entry.what == part.title), None)
        if number is None:
            consequence = f"unknown: {first_of(missing, _MAX_NAMED)}" if missing else "not all of it was judged"
            why = _why(part, sources[name], failed)
            what = f"parts of {part.title}" if why.endswith(_PARTIALLY_REPORTED) else part.title
            gaps.append(Unobserved(what, why, consequence, ids))
        else:
            known[number] = replace(known[number], rules=ids)
    return (*known, *gaps)


def _why(part: Part, sources: Sequence[str], failed: Set[str]) -> str:
    """Why a part is not known. `sources`: those that may read the part; `failed`: those whose polls all failed."""
    if not part.read_by:
        return "too few steps, or too few windows in them"
    if not sources:
        return "no source of this recording reads it"
    names = join_names(sources, _MAX_NAMED)
    return f"{names} reported nothing" if set(sources) <= failed else f"{names} {_PARTIALLY_REPORTED}"


def _sources(recording: Recording) -> dict[str, list[str]]:
    """Part → the sources that may read it."""
    read = {source.name: parts_read(source) for source in recording.declarations}
    return {name: [source for source, names in read.items() if name in names] for name in parts().parts}


def _unread_parts(
    topology: Topology,
    rules: Sequence[Rule],
    tables: Mapping[str, FactTable],
    findings: Sequence[Finding],
    sources: Mapping[str, Sequence[str]],
    idle: Set[str],
) -> dict[str, _UnreadPart]:
    """Part → its missing items, in the order of the I/O path. `idle`: directions without I/O of the test."""
    gaps = {name: _UnreadPart() for name in parts().parts}
    absent = [condition for condition in parts().only_where if not _applies(condition, topology)]
    no_tables = {table for condition in absent for table in condition.tables}
    no_facts = {fact for condition in absent for fact in condition.facts}
    of_table = {table: name for name, part in parts().parts.items() for table in part.tables}
    for rule in not_judged(rules, tables):
        name = of_table.get(rule.each)
        if name is None or rule.each in no_tables or not no_facts.isdisjoint(rule_condition(rule).facts):
            continue
        gaps[name].rules[rule.id] = None
        gaps[name].missing[parts().parts[name].tables[rule.each]] = None
    each_of = {rule.id: rule.each for rule in rules}
    found = {finding.rule for finding in findings if finding.outcome == "hit"}
    for finding in findings:
        table = each_of[finding.rule]
        # A rule that holds elsewhere had its facts, and a direction without I/O has none.
        if finding.outcome == "hit" or table not in of_table or finding.rule in found or finding.direction in idle:
            continue
        missing = [fact for fact, value in finding.evidence.items() if value is None]
        if no_facts.isdisjoint(missing):
            needed = [(parts().facts_of.get(fact, of_table[table]), fact) for fact in missing]
            _add_rule(gaps, finding.rule, table, needed, sources)
    kinds = {entity.kind for entity in topology.entities.values()}
    return {
        name: gap
        for name, gap in gaps.items()
        if gap.rules and (not (exists := parts().parts[name].exists) or not kinds.isdisjoint(exists))
    }


def _add_rule(
    gaps: Mapping[str, _UnreadPart],
    rule: str,
    table: str,
    missing: Sequence[tuple[str, str]],
    sources: Mapping[str, Sequence[str]],
) -> None:
    """Add a rule to the gap of one part: among those without a needed fact, one that no source reads, else the first.

    `missing`: (part, fact) of the facts that the rule lacks. For a part without a source, its table is named.
    """
    names = dict.fromkeys(name for name, _ in missing)
    unread = [name for name in names if name != _STEPS_PART and not sources[name]]
    chosen = next(iter(unread or [name for name in names if name != _STEPS_PART] or names), None)
    if chosen is None:
        return
    gaps[chosen].rules[rule] = None
    of_tables = parts().parts[chosen].tables
    words = (
        [of_tables[table]]
        if unread and table in of_tables
        else [_fact_in_words(fact) for name, fact in missing if name == chosen]
    )
    gaps[chosen].missing |= dict.fromkeys(filter(None, words))


def _applies(condition: Condition, topology: Topology) -> bool:
    """Whether a setup has the elements that some tables and facts are about."""
    values = [entity.attributes.get(condition.attribute) for entity in topology.of_kind(condition.kind)]
    if not condition.attribute:
        return bool(values)
    return any(value is not None and condition.value in ("", str(value).lower()) for value in values)


def _fact_in_words(fact: str) -> str:
    """A fact in words: "link_resets_per_minute" → "link resets"; "" for one that follows from others."""
    return parts().names.get(fact, _UNIT.sub("", fact).replace("_", " "))
