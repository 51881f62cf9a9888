"""Selects the remedies that apply to an entity, and fills their commands with its names.

In a command, `<name>` in lower case stands for a fact of the entity: `interface <switch_port>`. A placeholder
remains, for a person to fill in, if its fact is unknown or could have a meaning for a shell: a command for the wrong
port is worse than none. If the remedy names its shell, a name with blanks is put in quotes. The texts about the
commands may also contain numbers, in the units of their facts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import isfinite

from sanpath.facts.table import FactRow, FactValue
from sanpath.rulebook.fact_kinds import FactKind, did_you_mean
from sanpath.rulebook.model import Fix
from sanpath.rulebook.summary_template import format_in_unit

PLACEHOLDER = re.compile(r"<([a-z][a-z0-9_]*)>")
_HARMLESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]*")
_QUOTABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+=,#&() -]*")
"""Characters that are literal between single quotes in POSIX shells and in PowerShell. Quotes, of which PowerShell
has several, and its wildcards are missing."""

CONTEXT_FACTS: Mapping[str, FactKind] = {"switch_make": "name", "nvme": "truth"}
"""Names that `only_if` may use besides the facts of the rule's table → kind: the make of the entity's switches, and
whether the LUNs of the test are namespaces of NVMe."""
_PLATFORM_FACTS = {"switch_make": "any switch", "platform": "any host"}
"""Facts that determine the command line of a remedy → its platform text if the fact is unknown."""


class Remedy(Fix):
    """A remedy for several makes, because the make is unknown. It has no commands itself.

    `variants`: the remedy of each make, for a person to choose from.
    """

    variants: tuple[Fix, ...] = ()


def check(commands: Iterable[str], names: Collection[str]) -> None:
    """Raise ValueError for a placeholder that no fact can fill."""
    for command in commands:
        for name in PLACEHOLDER.findall(command):
            if name not in names:
                raise ValueError(f"no fact is called {name!r}{did_you_mean(name, names)}")


def applicable_remedies(
    fixes: Sequence[Fix],
    rows: Sequence[FactRow],
    context: Mapping[str, FactValue] | None = None,
    units: Mapping[str, str] | None = None,
) -> tuple[Fix, ...]:
    """Return the remedies that apply to an entity with these rows of facts, filled with the facts.

    A condition on an unknown fact counts as met. But if the make of a device is unknown, the remedies of all makes
    are merged into one without commands: nobody should type the commands of another make. If several rows have a
    fact, the last one counts. `context`: facts that the rows lack: `CONTEXT_FACTS`, and the platform of the test's
    hosts. `units`: fact → unit."""
    reported = {name: value for row in rows for name, value in row.items() if value is not None}
    facts = {**(context or {}), **reported}
    result: list[Fix] = []
    for fix in (fix for fix in fixes if _applies(fix, facts)):
        unknown = next((name for name in _PLATFORM_FACTS if name in fix.only_if and name not in facts), None)
        if unknown is None:
            result.append(_fill(fix, facts, units or {}))
            continue
        # Placeholders remain: the remedy is one step of the plan for all ports to which it applies.
        generic = _without_commands(fix, _PLATFORM_FACTS[unknown])
        if result and _same_action(result[-1], generic):
            result[-1] = _merge(result[-1], generic)
        else:
            result.append(generic)
    return tuple(result)


def _without_commands(fix: Fix, kind: str) -> Remedy:
    """Return the remedy without commands; the text of its scope contains those of its make."""
    make, _, condition = fix.platform.partition(", ")
    commands_text = f" ({'; '.join(fix.commands)})" if fix.commands else ""
    return Remedy.model_validate(
        {
            **dict(fix),
            "platform": f"{kind}, {condition}" if condition else kind,
            "commands": (),
            "scope": f"On {make}: {fix.scope.rstrip('.')}{commands_text}.",
            "variants": (fix,),
        }
    )


def _merge(first: Fix, second: Remedy) -> Fix:
    """Merge a remedy into another with the same action."""
    variants = first.variants if isinstance(first, Remedy) else ()
    return first.model_copy(
        update={"scope": f"{first.scope} {second.scope}", "variants": (*variants, *second.variants)}
    )


def _same_action(first: Fix, second: Remedy) -> bool:
    """Return whether two remedies without commands are the same action for different makes."""
    if not isinstance(first, Remedy):
        return False
    if first.action is not None and first.action == second.action:
        return (first.disruption, first.relieves) == (second.disruption, second.relieves)
    return (first.platform, first.commands, first.disruption, first.reads_only, first.relieves) == (
        second.platform,
        (),
        second.disruption,
        second.reads_only,
        second.relieves,
    )


def _applies(fix: Fix, facts: Mapping[str, FactValue]) -> bool:
    return all(name not in facts or facts[name] == value for name, value in fix.only_if.items())


_SWITCH_COMMENT = "! on <switch>"
"""A comment in the language of switches: several of them may have a port of the same name."""


def _fill(fix: Fix, facts: Mapping[str, FactValue], units: Mapping[str, str]) -> Fix:
    def fill(text: str) -> str:
        return PLACEHOLDER.sub(lambda match: _value(facts.get(match[1]), match[0], fix), text)

    def number(placeholder: re.Match[str]) -> str:
        value = facts.get(placeholder[1])
        if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
            return format_in_unit(value, units.get(placeholder[1], ""))
        return placeholder[0]

    def fill_words(text: str) -> str:
        return fill(PLACEHOLDER.sub(number, text))

    names_port = any("<switch_port>" in command for command in fix.commands)
    heading = (_SWITCH_COMMENT,) if names_port and "switch" in facts else ()
    return fix.model_copy(
        update={
            "commands": tuple(fill(command) for command in (*heading, *fix.commands)),
            "scope": fill_words(fix.scope),
            "verify": fill_words(fix.verify),
            "undo": fill_words(fix.undo),
        }
    )


def _value(fact: FactValue, placeholder: str, fix: Fix) -> str:
    if isinstance(fact, str) and _HARMLESS.fullmatch(fact):
        return fact
    if isinstance(fact, str) and fix.shell is not None and _QUOTABLE.fullmatch(fact):
        return f"'{fact}'"
    return placeholder
