"""The claims of a published test: whether sanpath's results carry them, and the tables that say so.

A claim in story.yaml has an `id`, the `claim` in a sentence, and a `state`:

    asserted       `figures` are reproduced within 2 % of print, `texts` are values of the output, `words` are in it,
                   or `by` names a rule that hits an entity; its summary has the words of `says`
    pointed_out    the output says that it contradicts something: `by`, or `words` of a comparison
    derived        the same as asserted, but what is imported was computed from the published figure, or entered from
                   it: it comes out because it went in. `reason` says how
    out_of_reach   nothing that was published carries it: `reason`

A figure's `unit` is printed after it. `from` names the files that carry it: without one of them its state does not
hold (examples/ablation.py). A figure that was entered by hand reproduces nothing by itself: only what is computed
from it, or measured, counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

STATES = ("asserted", "pointed_out", "derived", "out_of_reach")
_NEEDED = {
    "asserted": ("figures", "texts", "words", "by"),
    "pointed_out": ("by", "words"),
    "derived": ("reason",),
    "out_of_reach": ("reason",),
}
"""State → keys of a claim, one of which it needs."""
_EVIDENCE = {
    "asserted": "what comes out of the imported files",
    "pointed_out": "what sanpath says of it by itself",
    "derived": "what comes out of the figures that were entered",
    "out_of_reach": "why no published figure can check it",
}
"""State → header of the column with the evidence."""
TOLERANCE_RATIO = 0.02
"""Largest deviation of an asserted figure from print."""


@dataclass(frozen=True, slots=True)
class Results:
    """What sanpath says of a story. `diagnoses`: recording → diagnosis. `comparisons`: in the order of story.yaml."""

    diagnoses: Mapping[str, Any]
    comparisons: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Deviation:
    """A published figure and sanpath's. `ratio`: their difference as a share of the published one."""

    figure: str
    published: float
    reproduced: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Checked:
    """A claim with what sanpath says of it. `files`: those that carry it. `problems`: why its state does not hold;
    empty: it does."""

    id: str
    claim: str
    state: str
    evidence: str
    files: Sequence[str]
    problems: Sequence[str]


def check(claim: Mapping[str, Any], results: Results) -> Checked:
    """Check one claim against the results."""
    deviations = [deviation(figure, results) for figure in claim.get("figures", ())]
    problems = [
        f"{compared.figure}: published {compared.published:g}, sanpath {compared.reproduced:g}"
        for compared in deviations
        if not compared.ratio <= TOLERANCE_RATIO
    ]
    state = str(claim["state"])
    stated = [figure for figure in claim.get("figures", ()) if state != "derived" and _is_stated(figure, results)]
    problems += [f"{_figure_name(figure)}: entered, not reproduced" for figure in stated]
    texts = [(text["published"], str(_at(text, text["at"], results))) for text in claim.get("texts", ())]
    problems += [f"published {published}, sanpath {value}" for published, value in texts if published not in value]
    problems += [f"not in the output: {text}" for text in claim.get("words", ()) if not _is_in(text, results)]
    summaries = []
    if (by := claim.get("by")) is not None:
        summaries = list(_hits(by, results))
        problems += [] if summaries else [f"no hit of {by['rule']} on {by['entity']}"]
        problems += [
            f"{by['rule']} does not say {text}" for text in by.get("says", ()) if text not in " ".join(summaries)
        ]
    if not any(claim.get(key) for key in _NEEDED[state]):
        problems.append(f"{state} needs {' or '.join(_NEEDED[state])}")
    evidence = _evidence(claim, deviations, [*summaries, *(value for _, value in texts)])
    return Checked(str(claim["id"]), claim["claim"], state, evidence, claim.get("from", ()), problems)


def deviation(figure: Mapping[str, Any], results: Results) -> Deviation:
    """Return the deviation of a figure. `published` is a number, or a range in which there is no deviation."""
    ends = figure["published"] if isinstance(figure["published"], list) else [figure["published"]] * 2
    low, high = (float(end) for end in ends)
    value = reproduced(figure, results) * float(figure.get("scale", 1))
    nearest = min(max(value, low), high)
    ratio = abs(value / nearest - 1) if nearest else abs(value)
    return Deviation(_figure_name(figure), nearest, value, ratio)


def table(checked: Sequence[Checked], state: str) -> Iterator[str]:
    """Yield the lines of a story's table of the claims in one state."""
    evidence, files = _EVIDENCE[state], state != "out_of_reach"
    yield f"| # | published | {evidence} |" + (" carried by |" if files else "")
    yield "|---|---|---|" + ("---|" if files else "")
    for claim in checked:
        if claim.state == state:
            carriers = ", ".join(f"`{f}`" if "/" in f else f"[{f}]({f.split()[0]})" for f in claim.files)
            yield f"| {claim.id} | {claim.claim} | {claim.evidence} |" + (f" {carriers} |" if files else "")


def count_table(stories: Mapping[str, Sequence[Checked]]) -> Iterator[str]:
    """Yield the lines of the table of all stories: how many claims are in which state."""
    yield f"| story | claims | {' | '.join(state.replace('_', ' ') for state in STATES)} |"
    yield "|---|---|" + "---|" * len(STATES)
    for name, checked in stories.items():
        yield _count_row(f"[{name}]({name}/README.md)", checked)
    yield _count_row("together", [claim for checked in stories.values() for claim in checked])


def _count_row(name: str, checked: Sequence[Checked]) -> str:
    counts = [sum(claim.state == state for claim in checked) for state in STATES]
    return f"| {name} | {len(checked)} | {' | '.join(map(str, counts))} |"


def _evidence(claim: Mapping[str, Any], deviations: Sequence[Deviation], summaries: Sequence[str]) -> str:
    reason = " ".join(str(claim.get("reason", "")).split())
    if claim["state"] == "out_of_reach":
        return reason
    units = [str(figure.get("unit", "")) for figure in claim.get("figures", ())]
    figures = ", ".join(
        ", ".join(number(compared.reproduced) for compared, _ in group) + (f" {unit}" if unit else "")
        for unit, group in groupby(zip(deviations, units, strict=True), key=lambda pair: pair[1])
    )
    texts = [*summaries, *([figures] if figures else [])]
    texts += [f'"{text}"' for text in claim.get("words", ())]
    return "; ".join(texts + ([reason] if reason else [])).replace("|", "\\|")


def number(value: float) -> str:
    """Return a number with four digits that count, or all digits of a larger one.

    >>> number(176000.0), number(0.16251)
    ('176,000', '0.1625')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _hits(by: Mapping[str, Any], results: Results) -> Iterator[str]:
    for finding in results.diagnoses[by["recording"]]["findings"]:
        if finding["outcome"] == "hit" and finding["rule"] == by["rule"] and finding["entity"] == by["entity"]:
            yield f"`{finding['rule']}`: {finding['summary']}"


def _is_in(text: str, results: Results) -> bool:
    output = json.dumps([dict(results.diagnoses), list(results.comparisons)], ensure_ascii=False)
    return json.dumps(text, ensure_ascii=False)[1:-1] in output


def _is_stated(figure: Mapping[str, Any], results: Results) -> bool:
    """Return whether a figure is what a person entered, which is in the output whatever was measured."""
    path = figure.get("at")
    if not isinstance(path, list) or "values" not in path:
        return False
    return bool(_at(figure, path[:-1], results)["origin"] == "stated")


def _at(place: Mapping[str, Any], path: str | Sequence[Any], results: Results) -> Any:
    """Return the value at a path in the diagnosis or the comparison that `place` names."""
    root = results.comparisons[place["compare"]] if "compare" in place else results.diagnoses[place["recording"]]
    return value_at(root, path)


def _figure_name(figure: Mapping[str, Any]) -> str:
    keys = ("recording", "step", "direction", "quantity", "at")
    return ", ".join(str(figure[key]) for key in keys if key in figure)


def reproduced(figure: Mapping[str, Any], results: Results) -> float:
    """Return sanpath's value of a figure.

    `at` is a path into the diagnosis of `recording`, or into the comparison with the number `compare`; the value at
    `minus` is taken off, and that at `over` divides it, in the recording `over_recording` if there is one.
    Without `at`: step, quantity and direction; without a direction, both are combined by `combine`, which is sum, min
    or max.
    """
    if "at" in figure:
        values = [float(_at(figure, path, results)) for path in (figure["at"], *figure.get("plus", ()))]
        value = sum(values) - (float(_at(figure, figure["minus"], results)) if "minus" in figure else 0.0)
        divided_by = {**figure, "recording": figure.get("over_recording", figure.get("recording"))}
        return value / (float(_at(divided_by, figure["over"], results)) if "over" in figure else 1.0)
    (step,) = [step for step in results.diagnoses[figure["recording"]]["steps"] if step["name"] == figure["step"]]
    directions = [figure["direction"]] if "direction" in figure else list(step["directions"])
    values = [float(value_at(step["directions"][direction], figure["quantity"])) for direction in directions]
    return {"sum": sum, "min": min, "max": max}[figure.get("combine", "sum")](values)


def value_at(value: Any, path: str | Sequence[Any]) -> Any:
    """Return the value at a path: keys and numbers separated by points, or a list of them.

    In a list, a mapping stands for the one element that has these values.
    """
    for word in path.split(".") if isinstance(path, str) else path:
        if isinstance(word, Mapping):
            (value,) = [element for element in value if all(element.get(k) == v for k, v in word.items())]
        else:
            value = value[int(word)] if isinstance(value, list) else value[word]
    return value
