"""What parts of a load show, as the verdict of the whole."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from sanpath.diagnosis.experiment import VerdictKind
from sanpath.diagnosis.model import Grade
from sanpath.verdict.judgement.parts import _combined
from sanpath.verdict.model import Judgement


def judgement(in_flight: float, kind: VerdictKind, grade: Grade) -> Judgement:
    return Judgement(cast(Any, SimpleNamespace(in_flight_measured=in_flight)), kind, grade)


@pytest.mark.parametrize(("open_ios", "grade"), [(0.0, "A"), (5.0, "A"), (20.0, "B"), (30.0, "B"), (45.0, "C")])
def test_what_is_open_of_a_part_lowers_the_confidence_that_nothing_limits_the_whole(
    open_ios: float, grade: Grade
) -> None:
    """So many of 100 outstanding I/Os wait for something that is not known; the others for nothing."""
    whole = judgement(100, "concurrency_limited", "A")
    parts = [judgement(100 - open_ios, "concurrency_limited", "A")]
    parts += [judgement(open_ios, "cannot_tell", "C")] if open_ios else []
    found = _combined(cast(Any, None), whole, parts, timed_together=False)
    if not open_ios:
        assert found == whole
    assert (found.kind, found.grade) == ("concurrency_limited", grade)
