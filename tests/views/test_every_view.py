"""Names that try to be something else, in every text of a diagnosis at once: harmless in every view."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from defusedxml.ElementTree import fromstring
from markdown_it import MarkdownIt

from sanpath.cli.options import Format
from sanpath.cli.output import render_diagnosis
from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.chart_series import series
from sanpath.topology.resolve import resolve
from sanpath.views import curve, progress
from sanpath.views.html.page import render as as_html
from tests.support.stories import STORIES, diagnosed, recorded

MARKUP = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`|*_[a](javascript:b)<http://c.d> {{7*7}}"
ATTACKS = {
    "markup": MARKUP,
    "escapes": "\x1b[2J\x1b]0;title\x07\x9b31m\x00\x7f\x08",
    "directions": "\u202e\u2066\u200f\u061c",
    "zero width": "\u200b\u200d\ufeff\u00ad",
    "lines": "\r\n# forged\n- forged\n| forged |\u2028\u2029\x0b\x0c\x85",
    "formula": "=cmd|' /C calc'!A0",
    "no character": "\ufffe\uffff",
    "rich": "[red]forged[/red][@click=app.quit]",
}
UNSEEN = re.compile(
    r"[^\n\x20-\x7e\u00a0-\u00ac\u00ae-\u061b\u061d-\u200a\u2010-\u2027\u2030-\u2065\u206a-\ufdff\ufe00-\ufefe\uff00-\ufffd]"
)


def attacked(value: Any, more: str, declared: Any = str) -> Any:
    """The same with something before and after every text that is not one of a few words."""
    if get_origin(declared) is not None and "Literal" in str(declared):
        return value
    if isinstance(value, str):
        return f"{more} {value} {more}" if not re.fullmatch(r"\d{4}-\d\d-\d\dT.*|", value) else value
    if is_dataclass(value) and not isinstance(value, type):
        hints = get_type_hints(type(value))
        changed = {
            f.name: attacked(getattr(value, f.name), more, hints[f.name]) for f in fields(value) if f.name not in KEPT
        }
        return replace(value, **changed)
    if isinstance(value, Mapping):
        return {key: attacked(part, more) for key, part in value.items()}
    if isinstance(value, Sequence):
        inner = get_args(declared)[0] if get_args(declared) else str
        return type(value)(attacked(part, more, inner) for part in value)
    return value


KEPT = {"fix", "layer", "direction", "plane", "severity", "role", "outcome", "schema", "rule", "speed"}
"""Words of sanpath's own, which no device says, and remedies, which are checked when rules are loaded."""


every_attack = pytest.mark.parametrize("attack", sorted(ATTACKS))


@cache
def nasty(attack: str) -> Diagnosis:
    found: Diagnosis = attacked(diagnosed("published"), ATTACKS[attack])
    assert found.verdict.headline != diagnosed("published").verdict.headline
    assert found.steps[0].name.startswith(ATTACKS[attack])
    return found


@cache
def of(attack: str, form: Format) -> str:
    """What a view shows of it; "" is nobody's attack."""
    diagnosis = nasty(attack) if attack else diagnosed("published")
    if form is not Format.html:
        return render_diagnosis(diagnosis, form, "")
    recording = recorded("published")
    topology = resolve(recording.inventory())
    return as_html(diagnosis, topology, series(recording, topology))


@every_attack
@pytest.mark.parametrize("form", list(Format))
def test_nothing_unseen_reaches_a_terminal_or_an_editor(attack: str, form: Format) -> None:
    hidden = UNSEEN.findall(of(attack, form))
    assert not [f"U+{ord(c):04X}" for c in hidden]


@every_attack
def test_the_lines_of_the_text_report_are_no_more_than_wrapping_makes_them(attack: str) -> None:
    lines = of(attack, Format.text).splitlines()
    assert not [line for line in lines if line.startswith(("# forged", "- forged", "| forged"))]


@every_attack
def test_markdown_holds_no_html_no_link_and_no_heading_of_theirs(attack: str) -> None:
    def kinds(text: str) -> list[str]:
        parsed = MarkdownIt("commonmark").enable("table").parse(text)
        return [t.type for token in parsed for t in (token, *(token.children or ()))]

    plain, found = kinds(of("", Format.markdown)), kinds(of(attack, Format.markdown))
    for kind in (
        "html_inline",
        "html_block",
        "link_open",
        "image",
        "heading_open",
        "list_item_open",
        "tr_open",
        "em_open",
    ):
        assert found.count(kind) == plain.count(kind), kind


@every_attack
def test_html_has_the_same_elements_as_ever(attack: str) -> None:
    def tags(page: str) -> list[str]:
        outside = re.sub(r"(?s)(<script\b[^>]*>).*?</script>", r"\1", page)
        return re.findall(r"<(script|img|a|iframe|object|form|h1|h2|tr)\b", outside)

    assert sorted(tags(of(attack, Format.html))) == sorted(tags(of("", Format.html)))


@every_attack
def test_junit_is_one_document_with_the_same_cases(attack: str) -> None:
    before, after = (fromstring(of(one, Format.junit).encode()) for one in ("", attack))
    assert [e.tag for e in before.iter()] == [e.tag for e in after.iter()]


@every_attack
def test_json_is_one_object_that_tells_every_name_as_it_is(attack: str) -> None:
    assert json.loads(of(attack, Format.json))["steps"][0]["name"] == nasty(attack).steps[0].name


@every_attack
def test_the_line_of_a_run_under_way_and_the_curve_are_plain(attack: str) -> None:
    found = nasty(attack)
    assert "\n" not in progress.line(found)
    for text in (progress.line(found), curve.text(found, 160), curve.markdown(found)):
        assert not UNSEEN.search(text)


def test_the_attack_reaches_what_it_is_meant_to_reach() -> None:
    """Every sort of text that a device can cause is in some story."""
    for name in STORIES:
        assert attacked(diagnosed(name), "x").verdict.headline.startswith("x ")
