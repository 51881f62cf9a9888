"""Removes the findings that a site has accepted until a certain day, and lists them with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from sanpath.rulebook.model import Finding

if TYPE_CHECKING:
    from sanpath.rulebook.site.settings import Suppression


@dataclass(frozen=True, slots=True)
class Accepted:
    """A suppression, and the findings that it suppresses. `until`: its last day, ISO 8601.

    `expired`: that day had passed when the test ran, and its findings count again."""

    rule: str
    entity: str
    reason: str
    until: str
    expired: bool
    findings: Sequence[Finding] = ()


def split_accepted(
    all_findings: Sequence[Finding], suppressions: Sequence[Suppression], day: date
) -> tuple[list[Finding], list[Accepted]]:
    """Return the findings that count on a day, and every suppression with the findings that it removes.

    Only hits are removed: nobody has accepted what could not be judged.
    """
    valid = [suppression for suppression in suppressions if day <= suppression.until]
    suppressed_by = {
        id(finding): next(
            (suppression for suppression in valid if finding.outcome == "hit" and suppression.covers(finding)), None
        )
        for finding in all_findings
    }
    accepted = [
        Accepted(
            suppression.rule,
            suppression.entity,
            suppression.reason,
            suppression.until.isoformat(),
            suppression not in valid,
            tuple(finding for finding in all_findings if suppressed_by[id(finding)] is suppression),
        )
        for suppression in suppressions
    ]
    return [finding for finding in all_findings if suppressed_by[id(finding)] is None], accepted
