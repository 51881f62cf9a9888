"""Remedies for the entity at hand: their commands filled with its own names, others' left out.

In a command, `<name>` in lower case stands for a fact of the entity: `interface <switch_port>`. What is not known,
and what could mean something to a shell, stays as it is, for a person to fill in: the command of a wrong port is
worse than none. Where the remedy names its shell, a name with blanks is put in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from sanpath.facts.table import FactRow, FactValue
from sanpath.rulebook.model import Fix
from sanpath.rulebook.text import did_you_mean

_PLACEHOLDER = re.compile(r"<([a-z][a-z0-9_]*)>")
_HARMLESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]*")
_QUOTABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+=,#&() -]*")
"""Between single quotes these are themselves in a POSIX shell and in PowerShell alike; quotes, which PowerShell knows
several of, and its wildcards are not among them."""

MAKES = ("switch_make",)
"""What `only_if` may name besides the facts of a rule's table: the make of the switches at the entity."""
_KINDS = {"switch_make": "any switch", "platform": "any host"}
"""Facts that tell on what a command line is typed, and what a remedy is for where they are not known."""


class Remedy(Fix):
    """A remedy told for several makes, since the make is not known: without a command line of its own.

    `variants`: the remedy of each make, to be chosen by a person.
    """

    variants: tuple[Fix, ...] = ()


def check(commands: Iterable[str], names: Collection[str]) -> None:
    """Raise ValueError for a placeholder that no fact can fill."""
    for command in commands:
        for name in _PLACEHOLDER.findall(command):
            if name not in names:
                raise ValueError(f"no fact is called {name!r}{did_you_mean(name, names)}")


def fitting(
    fixes: Sequence[Fix], rows: Sequence[FactRow], seen: Mapping[str, FactValue] | None = None
) -> tuple[Fix, ...]:
    """The remedies that fit an entity with these rows of facts, filled with them. What is not known fits; but of
    devices whose make is not known one remedy is told for all of them, and nobody is handed a command line of another
    make. `seen`: what its own facts do not tell: the make of the switches at it, the platform of the test's hosts."""
    told = {name: value for row in rows for name, value in row.items() if value is not None}
    facts = {**(seen or {}), **told}
    found: list[Fix] = []
    for fix in (fix for fix in fixes if _fits(fix, facts)):
        unknown = next((name for name in _KINDS if name in fix.only_if and name not in facts), None)
        if unknown is None:
            found.append(_filled(fix, facts))
            continue
        # With its placeholders: then it is one step of the plan for all the ports that it is for.
        words = _in_words(fix, _KINDS[unknown])
        if found and _same_action(found[-1], words):
            found[-1] = _with(found[-1], words)
        else:
            found.append(words)
    return tuple(found)


def _in_words(fix: Fix, kind: str) -> Remedy:
    """The remedy without commands of its own: what is typed on that make is in the words of its scope."""
    make, _, when = fix.platform.partition(", ")
    typed = f" ({'; '.join(fix.commands)})" if fix.commands else ""
    return Remedy.model_validate(
        {
            **dict(fix),
            "platform": f"{kind}, {when}" if when else kind,
            "commands": (),
            "scope": f"On {make}: {fix.scope.rstrip('.')}{typed}.",
            "variants": (fix,),
        }
    )


def _with(one: Fix, other: Remedy) -> Fix:
    """Two that are one."""
    known = one.variants if isinstance(one, Remedy) else ()
    return one.model_copy(update={"scope": f"{one.scope} {other.scope}", "variants": (*known, *other.variants)})


def _same_action(one: Fix, other: Remedy) -> bool:
    """Whether two remedies without commands of their own are one, told for several makes."""
    if not isinstance(one, Remedy):
        return False
    if one.action is not None and one.action == other.action:
        return (one.disruption, one.relieves) == (other.disruption, other.relieves)
    return (one.platform, one.commands, one.disruption, one.reads_only, one.relieves) == (
        other.platform,
        (),
        other.disruption,
        other.reads_only,
        other.relieves,
    )


def _fits(fix: Fix, facts: Mapping[str, FactValue]) -> bool:
    return all(name not in facts or facts[name] == value for name, value in fix.only_if.items())


def _filled(fix: Fix, facts: Mapping[str, FactValue]) -> Fix:
    def fill(text: str) -> str:
        return _PLACEHOLDER.sub(lambda match: _value(facts.get(match[1]), match[0], fix), text)

    return fix.model_copy(
        update={
            "commands": tuple(fill(command) for command in fix.commands),
            "scope": fill(fix.scope),
            "verify": fill(fix.verify),
            "undo": fill(fix.undo),
        }
    )


def _value(fact: FactValue, otherwise: str, fix: Fix) -> str:
    if isinstance(fact, str) and _HARMLESS.fullmatch(fact):
        return fact
    if isinstance(fact, str) and fix.shell is not None and _QUOTABLE.fullmatch(fact):
        return f"'{fact}'"
    return otherwise
