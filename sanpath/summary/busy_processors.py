"""Whose processors limit a load that its own side limits: those of its processes, or of its machine."""

from __future__ import annotations

import re

from sanpath.diagnosis.model import Diagnosis
from sanpath.summary.names import readable

_MACHINE = re.compile(r"\b(?:host|vm):\S+")


def busy_words(diagnosis: Diagnosis) -> str:
    """How busy the processors are that limit, as a sentence; "" if others limit, or it is not known."""
    words = _MACHINE.sub(lambda match: readable(match[0]), _reason(diagnosis))
    return f"{words[:1].upper()}{words[1:]}"


def busy_machine(diagnosis: Diagnosis) -> str | None:
    """The machine whose processors limit. None: those of the load's processes do, or others."""
    machine = _MACHINE.search(_reason(diagnosis))
    return None if machine is None else machine[0]


def _reason(diagnosis: Diagnosis) -> str:
    verdict = diagnosis.verdict
    suspects = [suspect for suspect in verdict.suspects if verdict.kind == suspect.verdict == "generator_limited"]
    return next((reason for suspect in suspects[:1] for reason in suspect.because), "")
