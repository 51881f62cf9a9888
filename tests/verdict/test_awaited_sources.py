"""A source that is read seldom has given nothing yet: what it is about to measure does not count as not measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnose import judge_recording
from sanpath.facts.table import FactTable
from sanpath.verdict.judgement.load_parts import judge_parts
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, Port, San
from tests.support.stories import COUNTED, NOTHING, X, published

SECOND = Port("fc1/8", "vmhba3", "21000024ff000002")
"""An idle link: while nothing is counted, both look half used, as by a path policy that uses them in turn."""
EVERY = 10.0


@pytest.mark.parametrize("seconds", range(6, 50, 4))
def test_nothing_is_concluded_from_a_switch_that_has_not_been_read_twice(seconds: int, tmp_path: Path) -> None:
    """One step so far of the published test, with a switch that is read every ten seconds."""
    san = San(tmp_path, (HOST_PORT, SECOND, ARRAY_PORT), leave_out={"last_end"}, switch_every=EVERY)
    ports = {"fc1/7": (COUNTED, NOTHING), "fc1/1": (COUNTED, NOTHING)}
    load, array = Flow(X, 16 / X), {"read": AtArray(0.00035, san=0.0021)}
    san.step("t16", 16, read=load, ports=ports, array=array, seconds=seconds)
    facts, (judged,) = judge_recording(san.write(ended=False))
    is_counted = any(row["bytes_per_second"] for row in facts.tables["link"].rows)
    assert judged.kind == ("bottleneck" if is_counted else "cannot_tell")
    assert is_counted == (seconds > 16), "it was read 11 and 21 s after the recording began, the step after 5 s"
    if is_counted:
        assert judged.limiter == "link:esx7/vmhba2--sw1/fc1/7"
    else:
        assert any("no whole window of sw1 yet" in reason for reason in judged.because)
        assert not judged.suspects, "the idle path is no sign of a policy before a port is counted"


def test_a_counter_at_its_limit_needs_no_other_source(tmp_path: Path) -> None:
    """The array is read every ten minutes."""
    facts, judgements = judge_recording(published(San(tmp_path)).write())
    known = facts.tables["source"].rows
    sources = [{**row, "every_seconds": 600.0} if row["entity"] == "source:fa1" else row for row in known]
    unread = {kind: FactTable(()) for kind in ("array", "volume")}
    tables = {**facts.tables, **unread, "source": FactTable(tuple(sources))}
    for before, judged in zip(judgements, judge_parts(replace(facts, tables=tables), facts.loads), strict=True):
        assert (judged.limiter, judged.grade) == (before.limiter, before.grade)
