"""A self-contained HTML document: its styles, its script and its data are inside, and it fetches nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from sanpath.masking import printable
from sanpath.units import bandwidth, count, counted, duration, percent
from sanpath.views import cells, words

Cells = Sequence[str | float | None]
"""A row of a CSV file."""


def document(template: str, data: object, scripts: Sequence[str], **context: Any) -> str:
    """Render the page of a template. `data`: JSON for its script; `scripts`: files of this package, in order."""
    style = _file("vendor/uPlot.min.css") + _file("report.css")
    licence = f"/*\n{_file('vendor/uPlot.LICENSE')}*/\n" if "vendor/uPlot.iife.min.js" in scripts else ""
    script = licence + "".join(_file(name) for name in scripts)
    return (
        _environment()
        .get_template(template)
        .render(
            cells=cells,
            words=words,
            policy=_policy(script, style),
            style=Markup(style),  # noqa: S704 - files of this package
            script=Markup(script),  # noqa: S704 - files of this package
            data=_json(data),
            **context,
        )
    )


_OPTION = re.compile(r"(?<![\w-])--?[a-z][\w-]*")


def code(text: str) -> Markup:
    """A text as HTML, with commands in backticks as code. No line breaks within an option."""
    escaped = _OPTION.sub(r'<span class="unbroken">\g<0></span>', str(escape(printable(text))))
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", escaped))  # noqa: S704 - escaped before


_QUANTITY = re.compile(r"\d[\d.,]* (?:%|[mµ]?s|IOPS|[KMGT]i?B(?:/s)?|[MG]b/s)(?!\w)")


def unbroken(text: str) -> Markup:
    """A text as HTML like that of `code`, in which no line breaks between a number and its unit either."""
    return Markup(_QUANTITY.sub(r'<span class="unbroken">\g<0></span>', str(code(text))))  # noqa: S704 - escaped before


def rounded(rows: Sequence[Cells]) -> list[Cells]:
    """Rows of a CSV file: numbers with six digits, and names that are safe to print."""
    return [
        [printable(c) if isinstance(c, str) else None if c is None else float(f"{c:.6g}") for c in row]
        for row in rows
    ]


@cache
def _environment() -> Environment:
    # Control characters are removed from every expression first; then it is escaped.
    environment = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(bandwidth=bandwidth, count=count, counted=counted, duration=duration, percent=percent)
    environment.filters.update(short=words.short, code=code, unbroken=unbroken)
    return environment


def _printable_value(value: object) -> object:
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _file(name: str) -> str:
    return files("sanpath.views.html").joinpath(name).read_text(encoding="utf-8")


def _policy(script: str, style: str) -> str:
    """The content security policy: only this script and these styles, identified by their hashes."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    return (
        f"default-src 'none'; img-src blob:; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _json(value: object) -> Markup:
    """JSON that cannot leave its script element, whatever it contains."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - no markup is left in it
