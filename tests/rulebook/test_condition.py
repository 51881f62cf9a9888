"""The condition language: three outcomes, what it reads, and what it refuses."""

from __future__ import annotations

import math

import pytest

from sanpath.facts.table import FactTable, FactValue
from sanpath.rulebook.condition import ConditionError, compile_condition
from sanpath.rulebook.fact_kinds import fact_kinds
from sanpath.rulebook.judge import judge
from sanpath.rulebook.model import Fix, Limit, Rule

FIX = Fix(platform="any", commands=(), scope="-", disruption="none", verify="-", undo="-")


def outcome(when: str, **facts: FactValue) -> str:
    """What a rule with this condition says about one link."""
    rule = Rule(
        id="under-test",
        title="-",
        status="stable",
        severity="low",
        each="link",
        when=when,
        limits={"busy": Limit(value=0.9, source="-")},
        role="risk",
        summary="-",
        why="-",
        not_if="-",
        fix=(FIX,),
        references=("-",),
        tests=(),
    )
    row = {"entity": "link:a", "step": "1", "direction": "read", **facts}
    (judgement,) = judge([rule], {"link": FactTable((row,))})
    return judgement.outcome


@pytest.mark.parametrize(
    ("when", "facts", "expected"),
    [
        ("utilisation > busy", {"utilisation": 0.95}, "hit"),
        ("utilisation > busy", {"utilisation": 0.9}, "clear"),
        ("utilisation > busy", {}, "unknown"),
        ("utilisation > busy", {"utilisation": math.nan}, "unknown"),
        ("utilisation > busy", {"utilisation": math.inf}, "unknown"),
        # One side decides, whatever the other is.
        ("utilisation > busy or share > 0.5", {"utilisation": 0.95}, "hit"),
        ("utilisation > busy or share > 0.5", {"utilisation": 0.1}, "unknown"),
        ("utilisation > busy and share > 0.5", {"utilisation": 0.1}, "clear"),
        ("utilisation > busy and share > 0.5", {"utilisation": 0.95}, "unknown"),
        ("not utilisation > busy", {}, "unknown"),
        ("not on_loaded_path", {"on_loaded_path": False}, "hit"),
        ("on_loaded_path == False", {"on_loaded_path": False}, "hit"),
        ("on_loaded_path", {"on_loaded_path": None}, "unknown"),
        # A chain holds when each pair holds.
        ("0.2 < utilisation <= busy", {"utilisation": 0.9}, "hit"),
        ("0.2 < utilisation <= busy", {"utilisation": 0.2}, "clear"),
        ("0.2 < utilisation < share", {"utilisation": 0.1}, "clear"),
        ("0.2 < utilisation < share", {"utilisation": 0.3}, "unknown"),
        # Arithmetic, with Python's precedence.
        ("utilisation + share * 2 > 1", {"utilisation": 0.5, "share": 0.3}, "hit"),
        ("(utilisation + share) * 2 > 1.7", {"utilisation": 0.5, "share": 0.3}, "clear"),
        ("-utilisation < -0.4", {"utilisation": 0.5}, "hit"),
        ("1 - utilisation - 0.3 < 0.3", {"utilisation": 0.5}, "hit"),
        ("share / 2 == 1.5", {"share": 3}, "hit"),
        ("1 / 3 > share", {"share": 0.333}, "hit"),
        # What has no value is not known.
        ("utilisation / share > 2", {"utilisation": 0.5, "share": 0}, "unknown"),
        ("utilisation / share < 2", {"utilisation": 0.0, "share": 0.0}, "unknown"),
        ("utilisation / (share - 1) > 2", {"utilisation": 0.5, "share": 1.0}, "unknown"),
        ("utilisation * 1e308 > 1", {"utilisation": 1e10}, "unknown"),
        ("-(utilisation * 1e308) > 1", {"utilisation": 1e10}, "unknown"),
        # Names are data, also those with quotes in them.
        ("direction == 'read' and share > 0", {"share": 0.5}, "hit"),
        ('step != "it\'s"', {"step": "it's"}, "clear"),
        ("step == 'a' 'b'", {"step": "ab"}, "hit"),
        ('step == "\'; DROP TABLE x; --"', {"step": "'; DROP TABLE x; --"}, "hit"),
        ("step == '\"utilisation\"'", {"step": '"utilisation"'}, "hit"),
        ("step == 'Zürich'", {"step": "Zürich"}, "hit"),
    ],
)
def test_outcome(when: str, facts: dict[str, FactValue], expected: str) -> None:
    assert outcome(when, **facts) == expected


def test_condition_over_several_lines_is_one_condition() -> None:
    assert outcome("utilisation > 0.5\nand share > 0.5", utilisation=0.6, share=0.4) == "clear"


def test_facts_and_limits_are_listed_in_order_of_the_text() -> None:
    kinds = fact_kinds("link")
    limits = {"busy": 0.9, "low": 0.1}
    condition = compile_condition("share > low and utilisation > busy * share", kinds, limits)
    assert condition.facts == ("share", "utilisation")
    assert condition.limits == ("low", "busy")


@pytest.mark.parametrize(
    ("when", "worst"),
    [
        ("on_loaded_path and utilisation >= 0.9", ("utilisation", 1)),
        ("0.9 > utilisation", ("utilisation", -1)),
        ("0.9 < utilisation", ("utilisation", 1)),
        ("not utilisation < 0.9 and share > 0.5", ("share", 1)),
        ("not (not (utilisation > 0.9))", ("utilisation", 1)),
        ("on_loaded_path", None),
    ],
)
def test_worse_is_further_beyond_the_first_limit(when: str, worst: tuple[str, int] | None) -> None:
    assert compile_condition(when, fact_kinds("link"), {}).worst == worst


ATTACKS = {
    "attribute": "utilisation.__class__ == 1",
    "attribute of a literal": "().__class__.__bases__ == 1",
    "call": "open('/etc/passwd') == 'x' and utilisation > 0",
    "call of a fact": "utilisation(1) > 0",
    "call of a database function": "read_text('/etc/passwd') == 'x'",
    "import": "__import__('os').system('true') == 0",
    "lambda": "(lambda: 1)() > utilisation",
    "list comprehension": "[x for x in (1, 2)] == utilisation",
    "set comprehension": "{x for x in (1, 2)} == utilisation",
    "dict comprehension": "{x: x for x in (1, 2)} == utilisation",
    "generator": "(x for x in (1, 2)) == utilisation",
    "subscript": "utilisation[0] > 0",
    "power": "utilisation > 9 ** 9 ** 9",
    "shift": "utilisation > 1 << 99",
    "modulo": "utilisation % 2 > 0",
    "floor division": "utilisation // 2 > 0",
    "matrix product": "utilisation @ 2 > 0",
    "bit operation": "utilisation | 1 > 0",
    "inversion": "~utilisation > 0",
    "walrus": "(x := utilisation) > 0",
    "f-string": "f'{utilisation}' == 'x'",
    "bytes": "direction == b'read'",
    "none": "utilisation == None",
    "is": "utilisation is None",
    "in a list": "entity in [util]",
    "in a text": "direction in 'read'",
    "not in": "direction not in ('read', 'write')",
    "if else": "True if utilisation > 0 else False",
    "star": "*utilisation > 0",
    "tuple": "utilisation > 0, True",
    "dictionary": "{} == utilisation",
    "ellipsis": "... == utilisation",
    "complex number": "utilisation > 1j",
    "yield": "(yield utilisation)",
    "await": "await utilisation",
    "assignment": "utilisation = 1",
    "two statements": "utilisation > 0; import os",
    "two lines": "utilisation > 0\nimport os",
    "parenthesis out": "utilisation > 0) or (1 == 1",
    "comment": "utilisation > 0 # and on_loaded_path",
    "database comment": "utilisation > 0 -- and on_loaded_path",
    "second statement of the database": "1=1); COPY facts TO '/tmp/x.csv'; SELECT (1=1",
    "subquery": "utilisation > (select 1)",
    "quote": "direction == 'read' or 'a'='a'",
    "escape": r"direction == '\x27 or 1=1 --'",
    "backslash": "utilisation > 0 \\\n and share > 0",
    "null character": "direction == 'a\0b'",
    "control character": "direction == '\x1b[31m'",
    "lone surrogate": "direction == '\ud800'",
    "direction override": "direction == '\u202e'",
    "not a number": "utilisation > nan",
    "infinity": "utilisation > inf",
    "number beyond every float": "utilisation > 1e999",
    "giant integer": "utilisation > 1" + "0" * 400,
    "integer too long to read": "utilisation > " + "9" * 5000,
    "limit times a truth": "utilisation > busy * True",
    "number as truth": "utilisation and share",
    "text compared with a number": "direction > 1",
    "order of texts": "direction > 'a'",
    "order of truths": "on_loaded_path > False",
    "comparison of comparisons": "(utilisation > 0) == (share > 0)",
    "sum of comparisons": "(utilisation > 0) + (share > 0) > 1",
    "no fact": "1 < 2",
    "always": "True",
    "empty": "",
    "blank": " \n ",
    "very many terms": " and ".join(["utilisation > 0"] * 5000),
    "very many sums": "utilisation" + " + 1" * 200 + " > 0",
    "open parentheses": "(" * 900,
    "nested parentheses": "(" * 300 + "utilisation > 0" + ")" * 300,
    "nested minus": "-" * 900 + "1 > utilisation",
    "nested not": "not " * 240 + "on_loaded_path",
    "nested not, too long": "not " * 20000 + "on_loaded_path",
    "quoted name": '"utilisation" > 0.5',
    "name of a column that is no fact": "entity == 'link:a'",
    "other case": "Utilisation > 0.5",
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_attack_is_refused(attack: str) -> None:
    with pytest.raises(ConditionError):
        compile_condition(attack, fact_kinds("link"), {"busy": 0.9})


def test_long_conditions_within_the_limit_are_read() -> None:
    assert outcome(" and ".join(["utilisation > 0"] * 50), utilisation=0.5) == "hit"
    assert outcome("(" * 30 + "utilisation > 0" + ")" * 30, utilisation=0.5) == "hit"


def test_python_warnings_about_a_condition_do_not_reach_the_user(recwarn: pytest.WarningsRecorder) -> None:
    with pytest.raises(ConditionError):
        compile_condition("utilisation is 1or share", fact_kinds("link"), {})
    assert not recwarn.list
