"""What sources said of themselves during a run stands in the report, and no two like entries of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.explanation.source_limits import reported_gaps
from sanpath.model import Event, Scalar
from tests.support import san
from tests.support.san import AtArray, Flow, San
from tests.support.stories import fast, judged


def reported(name: str, **detail: Scalar) -> tuple[str, Event]:
    return "vc1", Event(1, name, detail)


@pytest.mark.parametrize(
    ("result", "what", "why"),
    [
        (
            reported("counters-missing", text="counters virtualDisk: readOIO: these values are unknown"),
            "counters virtualDisk: readOIO (vc1)",
            "these values are unknown",
        ),
        (
            reported("facts-unknown", entity="esx7", why="no privilege", consequence="queue limits are unknown"),
            "settings of esx7 (vc1)",
            "no privilege",
        ),
        (
            reported(
                "host-state", host="esx7", **{"from": None, "to": "maintenance", "consequence": "not the test's"}
            ),
            "the activity of esx7 (vc1)",
            "it is maintenance",
        ),
        (reported("no-samples", entity="sqlvm1", why="gone"), "the activity of sqlvm1 (vc1)", "gone"),
        (reported("samples-late", seconds=90.0), "the latest samples (vc1)", "they came 90.0 s late"),
        (reported("vm-stopped", vm="sqlvm1", state="poweredOff"), "the activity of sqlvm1 (vc1)", "it is poweredOff"),
    ],
)
def test_what_a_source_cannot_read_is_told(result: tuple[str, Event], what: str, why: str) -> None:
    (entry,) = reported_gaps([result])
    assert (entry.what, entry.why) == (what, why)
    assert entry.consequence


def test_what_never_had_samples_has_no_afterwards() -> None:
    (entry,) = reported_gaps([reported("no-samples", entity="esx7", why="the server has no samples of it")])
    assert entry.consequence == "its activity is not known"


def test_what_is_in_order_again_and_what_is_no_admission_is_not() -> None:
    back = reported(
        "host-state", host="esx7", **{"from": "disconnected", "to": "connected", "consequence": "read again"}
    )
    assert reported_gaps([back, reported("samples-in-time", seconds=1.0), reported("step-begin", step="a")]) == []


def test_of_many_alike_the_first_are_named_and_the_others_counted() -> None:
    events = [reported("no-samples", entity=f"vm{n % 60}", why="gone") for n in range(120)]
    entries = reported_gaps(events)
    assert [entry.what for entry in entries[:2]] == ["the activity of vm0 (vc1)", "the activity of vm1 (vc1)"]
    assert entries[-1].what == "56 more like it (vc1)"


def test_links_whose_counters_wrap_between_polls_are_named_with_what_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = (replace(column, bits=32) if "bytes" in column.metric else column for column in san.PORTS.columns)
    monkeypatch.setattr(san, "PORTS", replace(san.PORTS, columns=tuple(columns)))
    fabric = San(tmp_path / "r.sanpath")
    fabric.ports = [fast(port, 64) for port in fabric.ports]
    fabric.step("s", 16, read=Flow(8000, 16 / 8000), ports={"fc1/7": (530e6, 0.0), "fc1/1": (530e6, 0.0)})
    unread = {each.what: each for each in judged(fabric.write()).unobserved}
    link = unread["link:esx7/vmhba2--sw1/fc1/7"]
    assert link.why == "sw1 counts its bytes in 32 bits, which can wrap between two polls"
    assert link.consequence == "it may be saturated: poll it every 0.4 s, or let it be read in 64 bits"


def test_an_array_whose_averages_are_longer_than_a_step_was_read(tmp_path: Path) -> None:
    """Its source is polled once in a step: no sample of it lies entirely within."""
    san = San(tmp_path / "r.sanpath", others_every=60.0)
    san.step("s", 16, read=Flow(500, 16 / 500), array={"read": AtArray(0.01)})
    (array,) = (each for each in judged(san.write()).unobserved if each.what == "the array")
    assert array.why == "none of its samples lies within a step"
    assert array.consequence.endswith("poll it more often, or make the steps longer than its averages")
