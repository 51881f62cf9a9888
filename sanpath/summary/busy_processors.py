"""The processors that limit a load, if the load is its own limit: those of its processes, or of its machine."""

from __future__ import annotations

from sanpath.diagnosis.model import Diagnosis, Suspect
from sanpath.summary.names import readable


def busy_words(diagnosis: Diagnosis) -> str:
    """Utilisation of the limiting processors, as a sentence; "" if something else limits, or it is not known."""
    suspect = _limiting_generator(diagnosis)
    words = next(iter(suspect.because), "") if suspect is not None else ""
    if suspect is not None and suspect.machine is not None:
        words = words.replace(suspect.machine, readable(suspect.machine))
    return f"{words[:1].upper()}{words[1:]}"


def busy_machine(diagnosis: Diagnosis) -> str | None:
    """The machine whose processors limit. None: the processors of the load's processes limit, or something else
    does."""
    suspect = _limiting_generator(diagnosis)
    return None if suspect is None else suspect.machine


def _limiting_generator(diagnosis: Diagnosis) -> Suspect | None:
    """The suspect that the verdict names, if it is the load generator."""
    first = next(iter(diagnosis.verdict.suspects), None)
    is_limiting = first is not None and diagnosis.verdict.kind == first.verdict == "generator_limited"
    return first if is_limiting else None
