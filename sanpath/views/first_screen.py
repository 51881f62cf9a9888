"""The first screen of the report in words: confidence, path, first action. All views use these texts."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.diagnosis.model import Diagnosis
from sanpath.diagnosis.remediation_plan import PlanStep
from sanpath.diagnosis.summary import PathElement, PathRole
from sanpath.masking import printable
from sanpath.units import first_of, percent_rounded
from sanpath.views import words
from sanpath.views.cells import MIN_UTILISATION

ROLES: dict[PathRole, str] = {"limits": "LIMIT", "waits": "I/Os queue here"}

_BEYOND_THE_HOST = {"link", "array_port", "array", "volume"}
"""Kinds of elements on a path that is known as far as the storage, or to it."""
_OFF_PATH_TITLES = {
    "path_policy": "Alternates with the link above",
    "lun": "Also full",
    "vdisk": "Also full",
    "hba": "Also full",
}
"""Kind of bottleneck → title of its elements that are not on the drawn path."""
MAX_OFF_PATH = 3
"""Largest number of elements off the path that are named: an array has many ports."""


def confidence(diagnosis: Diagnosis) -> str:
    """The grade of the verdict and its meaning."""
    return f"Confidence {diagnosis.verdict.grade}: {words.grade_meaning(diagnosis)}"


def usage(element: PathElement) -> str:
    """The speed and utilisation of a link, such as "4GFC 98 % utilised (reads)"; "" for other elements."""
    if element.kind != "link":
        return ""
    if element.utilisation is None:
        return " ".join(filter(None, (element.speed, "not measured")))
    used = f"{percent_rounded(element.utilisation)} utilised ({element.direction}s)"
    if element.utilisation < MIN_UTILISATION:
        # A port that counts no bytes may have a stuck counter.
        used = "idle" if element.utilisation else "counts nothing"
    return " ".join(filter(None, (element.speed, used)))


def role(diagnosis: Diagnosis, element: PathElement) -> str:
    """The role of an element in words; "" for none."""
    bottlenecks = diagnosis.verdict.bottlenecks
    if element.role == "limits" and any(bottleneck.culprit for bottleneck in bottlenecks):
        return "CAUSE"  # A device that slows down others.
    for bottleneck in bottlenecks:
        if element.entity not in bottleneck.elements:
            continue
        doubt = "?" if bottleneck.is_one_of_several else ""
        if bottleneck.kind == "retries":
            return f"LOSS{doubt}"  # I/Os are lost: the link need not be full.
        if bottleneck.kind == "link" and doubt:
            return f"{ROLES['limits']}{doubt}"
        if bottleneck.kind == "path_policy" and element.kind == "link":
            return "ONE AT A TIME"
    return ROLES[element.role] if element.role else ""


def label(diagnosis: Diagnosis, element: PathElement) -> str:
    """An element of the path as text, with its role in capitals for terminals without colour."""
    text = " ".join(filter(None, (element.name, usage(element), role(diagnosis, element))))
    return printable(f"[{text}]" if element.kind == "link" or element.role else text)


def path(diagnosis: Diagnosis) -> Iterator[tuple[str, PathElement]]:
    """Yield (separator before it, element) along the path."""
    before = None
    for element in diagnosis.summary.path:
        cable = element.kind == "link" or (before is not None and before.kind == "link")
        yield ("" if before is None else " ══ " if cable else " › "), element
        before = element


def off_path_text(diagnosis: Diagnosis) -> str | None:
    """The limiting elements off the path. None: there are none, or no path is known and the verdict names them."""
    elements, path = diagnosis.summary.off_path, diagnosis.summary.path
    headline = [bottleneck.entity for bottleneck in diagnosis.verdict.bottlenecks[:1]]
    if not elements or (not path and [element.entity for element in elements] == headline):
        return None
    labels = [label(diagnosis, element) for element in elements]
    return f"{off_path_title(diagnosis)}: {first_of(labels, MAX_OFF_PATH)}"


def other_links_text(diagnosis: Diagnosis) -> str | None:
    """The use of the host's other links. None: there are none, or they make no difference to the verdict."""
    elements = diagnosis.summary.other_links
    labels = [printable(", ".join(filter(None, (element.name, usage(element))))) for element in elements]
    noun = "link" if len(elements) == 1 else "links"
    return f"Other {noun} of the host: {first_of(labels, MAX_OFF_PATH, '; ')}" if labels else None


def off_path_title(diagnosis: Diagnosis) -> str:
    """The title of the elements off the path: the cause, the limit, or saturated or lossy links of other paths."""
    bottlenecks = diagnosis.verdict.bottlenecks
    off_path = {element.entity for element in diagnosis.summary.off_path}
    if any(bottleneck.culprit for bottleneck in bottlenecks):
        named = bottlenecks[0].entity
        return "The cause, not on the path of the test" if named in off_path else "As slow, on other paths"
    if _BEYOND_THE_HOST.isdisjoint(element.kind for element in diagnosis.summary.path):
        return "The limit"  # How I/Os get to it is not known.
    if bottlenecks[0].entity in off_path:
        return "The limit, on another path"
    if bottlenecks[0].is_one_of_several:
        return "As likely, on other paths"
    return _OFF_PATH_TITLES.get(bottlenecks[0].kind, "Also saturated, on other paths")


def first_step(diagnosis: Diagnosis) -> PlanStep | None:
    """The first step of the plan. None: the verdict must be decided first, or there is nothing to do."""
    return next((step for step in diagnosis.plan if step.number == diagnosis.summary.plan_step), None)


def action_text(diagnosis: Diagnosis) -> str:
    """The first action, without its command."""
    summary = diagnosis.summary
    if summary.action is not None:
        return summary.action.removesuffix(f": {action_command(diagnosis)}")
    bottlenecks = diagnosis.verdict.bottlenecks
    return "none, no remedy is known for this limit" if bottlenecks else "none, nothing has to be changed"


def action_command(diagnosis: Diagnosis) -> str | None:
    """The command of the recommended experiment. None: the first action is a different one, or has no command."""
    experiment, action = diagnosis.verdict.experiment, diagnosis.summary.action
    command = None if experiment is None else experiment.command
    return command if command is not None and action is not None and action.endswith(command) else None


def gain_text(diagnosis: Diagnosis) -> str | None:
    """The expected gain of the first action. None: there is no action, or it changes nothing."""
    step = first_step(diagnosis)
    if diagnosis.summary.gain or step is None or step.purpose != "limit":
        return diagnosis.summary.gain
    return "not known: this run does not show what would limit next"


def test_name(diagnosis: Diagnosis) -> str:
    """The load, the machine it ran on, and when: "fio on sqlvm1, 2027-01-15 08:00 UTC"."""
    summary = diagnosis.summary
    places = [element for element in summary.path if element.kind in ("load", "vm", "host")][:2]
    test = " on ".join(element.name for element in places)
    if test and summary.more_paths and not any(element.kind == "link" for element in summary.path):
        test += f" and {summary.more_paths} more"
    return ", ".join(filter(None, (test, words.minute(diagnosis.run.start))))


def badges(step: PlanStep) -> tuple[str, str]:
    """Cost and risk of a step."""
    return words.DISRUPTION[step.disruption], f"{step.risk} risk"
