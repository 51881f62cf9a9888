"""Findings that a site has accepted until a day: taken out of what counts, and listed with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from sanpath.rulebook.model import Finding
from sanpath.rulebook.site import Suppression


@dataclass(frozen=True, slots=True)
class Accepted:
    """A suppression, and the findings it took out. `until`: the last day it holds, ISO 8601; `expired`: that day was
    over when the test ran, and its findings count again."""

    rule: str
    entity: str
    reason: str
    until: str
    expired: bool
    findings: Sequence[Finding] = ()


def sort_out(
    found: Sequence[Finding], suppressions: Sequence[Suppression], day: date
) -> tuple[list[Finding], list[Accepted]]:
    """The findings that count on a day, and every suppression with those that do not.

    Only hits are taken out: what could not be judged was not accepted by anybody.
    """
    valid = [one for one in suppressions if day <= one.until]
    out = {
        id(finding): next((one for one in valid if finding.outcome == "hit" and one.covers(finding)), None)
        for finding in found
    }
    told = [
        Accepted(
            one.rule,
            one.entity,
            one.reason,
            one.until.isoformat(),
            one not in valid,
            tuple(finding for finding in found if out[id(finding)] is one),
        )
        for one in suppressions
    ]
    return [finding for finding in found if out[id(finding)] is None], told
