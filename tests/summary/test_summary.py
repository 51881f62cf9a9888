"""The first screen as data: short enough to be read in a minute, and right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnosis.experiment import VerdictKind
from sanpath.diagnosis.model import Grade, PlaneInFlight
from sanpath.facts.table import WHOLE_RUN
from sanpath.model import SourceEntity, SourceLink
from sanpath.rulebook.model import Severity
from sanpath.summary.other_io import other_io
from sanpath.summary.path import summary_path
from sanpath.summary.summarise import summary
from sanpath.topology.resolve import resolve
from sanpath.views import first_screen
from tests.scenarios.test_linux_storage import SERVED, load_of
from tests.scenarios.test_paths_in_turn import over_two
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.stories import STORIES, diagnosed, judged, recorded


@pytest.mark.parametrize("name", sorted(STORIES))
def test_a_verdict_is_one_line_of_at_most_twelve_words(name: str) -> None:
    summary = diagnosed(name).summary
    assert 3 <= len(summary.verdict.split()) <= 12, summary.verdict
    assert "--" not in summary.verdict
    assert ":fa1" not in summary.verdict, "no names of the program's own"


@pytest.mark.parametrize("name", sorted(STORIES))
def test_the_path_begins_at_the_load_and_marks_what_the_verdict_names(name: str) -> None:
    found = diagnosed(name)
    path = found.summary.path
    assert path[0].entity == "load:fio"
    limits = {e.entity for e in (*path, *found.summary.off_path) if e.role == "limits"}
    for bottleneck in found.verdict.bottlenecks:
        assert bottleneck.entity in limits
    if found.verdict.kind in ("generator_limited", "concurrency_limited"):
        assert limits == {"load:fio"}
    else:
        assert bool(limits) == bool(found.verdict.bottlenecks)


def test_a_path_policy_that_is_not_proven_is_not_called_the_load() -> None:
    """Its suspect names what reaches the LUN, which may be the load."""
    found = diagnosed("published")
    suspect = replace(found.verdict.suspects[0], kind="path_policy", entity="load:fio", probability=0.37)
    verdict = replace(found.verdict, kind="cannot_tell", grade="C", bottlenecks=(), suspects=(suspect,))
    said = summary(replace(found, verdict=verdict), resolve(recorded("published").inventory()))
    assert said.verdict == "Bottleneck not proven; most likely the path policy (37 %)"


def test_a_link_that_nobody_counted_in_the_direction_of_the_verdict_is_not_called_idle() -> None:
    """The commands of reads cross it the other way: a few bytes, which say nothing about the data."""
    found = diagnosed("published")
    elements = [replace(use, utilisation=None if use.direction == "read" else 0.0009) for use in found.elements]
    said = summary(replace(found, elements=elements), resolve(recorded("published").inventory()))
    links = [element for element in (*said.path, *said.other_links) if element.kind == "link"]
    assert links
    assert {element.utilisation for element in links} == {None}


@pytest.mark.parametrize("name", sorted(STORIES))
def test_the_first_action_is_the_first_of_the_plan_unless_something_has_to_be_decided_first(name: str) -> None:
    found = diagnosed(name)
    if found.summary.plan_step is not None:
        assert found.summary.plan_step == 1
        assert found.summary.action == found.plan[0].action
    elif found.verdict.kind == "cannot_tell":
        assert found.summary.action is not None
        assert found.verdict.decide_with is not None


@pytest.mark.parametrize("name", sorted(STORIES))
def test_the_array_is_acquitted_only_where_it_was_cleared_and_is_not_blamed(name: str) -> None:
    found = diagnosed(name)
    if "array is not the problem" in (found.summary.acquittal or ""):
        assert any(c.entity.startswith(("array:", "volume:")) for c in found.cleared)
        assert not any(b.layer.startswith("array") for b in found.verdict.bottlenecks)


@pytest.mark.parametrize("steps", [("t16",), ("t16", "t800"), (WHOLE_RUN,)])
def test_a_slight_doubt_is_told_beside_the_verdict_only_of_the_step_that_it_rests_on(steps: tuple[str, ...]) -> None:
    found = diagnosed("published")
    assert found.verdict.from_step == "t800"
    doubt = replace(found.findings[0], role="validity", outcome="hit", severity="low", steps=steps)
    said = summary(replace(found, findings=[doubt]), resolve(recorded("published").inventory()))
    assert (doubt.title in (said.consequence or "")) == ("t800" in steps)


@pytest.mark.parametrize(("severity", "is_shown"), [("high", True), ("low", False)])
def test_a_severe_doubt_of_another_step_is_beside_the_verdict_with_the_throughput_of_that_step(
    severity: Severity, is_shown: bool
) -> None:
    found = diagnosed("published")
    doubt = replace(found.findings[0], role="validity", outcome="hit", severity=severity, steps=("t16",))
    text = summary(replace(found, findings=[doubt]), resolve(recorded("published").inventory())).consequence or ""
    assert (f"{doubt.title} (step t16, 6,250 IOPS)." in text) == is_shown, text


def test_the_published_test_is_told_in_three_lines() -> None:
    summary = diagnosed("published").summary
    assert summary.verdict == "4 Gb/s link esx7 vmhba2–sw1 fc1/7 is saturated (98 % utilised, reads)"
    assert summary.consequence == (
        "From 16 to 800 outstanding I/Os, throughput stays at 6,250 IOPS of 64 KiB and latency grows from 2.56 ms to "
        "128 ms. sw1 fc1/1–fa1 CT0.FC0 is saturated as well: relieve both."
    )
    assert (
        summary.acquittal
        == "The array is not the problem: I/Os spend 0.35 ms of 128 ms in it; highest load tested: 409.6 MB/s."
    )
    assert [e.name for e in summary.path] == [
        *("fio", "sqlvm1", "esx7", "vmhba2", "fc1/7", "sw1", "fc1/1", "CT0.FC0", "fa1", "vol01")
    ]
    assert [e.name for e in summary.path if e.role == "waits"] == ["sqlvm1"]
    assert summary.gain is not None
    assert summary.gain.startswith("up to 12,595 IOPS, latency down to 63.5 ms with 800 outstanding I/Os")


@pytest.mark.parametrize(
    ("story", "step", "sentence"),
    [
        ("saturated_array", None, "in the array."),
        ("quality_of_service", "q32", "I/Os wait 4.60 ms of 5.24 ms for the limit."),
        ("quality_of_service", "q128", None),
        ("published", None, None),
    ],
)
def test_the_time_at_a_limit_in_the_array_is_in_the_consequence_if_it_is_most_of_the_latency(
    story: str, step: str | None, sentence: str | None
) -> None:
    """At 128 outstanding I/Os, most of them wait in the guest."""
    found = diagnosed(story)
    verdict = replace(found.verdict, from_step=step or found.verdict.from_step)
    text = summary(replace(found, verdict=verdict), resolve(recorded(story).inventory())).consequence or ""
    assert (" in the array." in text or " for the limit." in text) == (sentence is not None), text
    assert sentence is None or sentence in text


def test_what_belongs_to_other_hosts_is_in_the_consequence() -> None:
    assert "39 % of the link's bytes are not the test's." in (diagnosed("neighbour").summary.consequence or "")


def test_a_queue_without_any_depth_is_no_prediction_for_the_depth_that_a_step_sets() -> None:
    found = diagnosed("guest_queue").summary
    assert found.action == "Raise the LUN queue depth"
    assert found.gain is None


def test_where_nothing_was_recorded_it_says_so(tmp_path: Path) -> None:
    summary = judged(San(tmp_path / "r.sanpath", leave_out={"load"}).write()).summary
    assert summary.verdict in ("No I/O of a load was recorded", "No step is long enough to be judged")
    assert summary.plan_step is None


@pytest.mark.parametrize("leave_out", [frozenset(), frozenset({"switch", "array", "array_samples", "disk"})])
def test_what_was_not_measured_is_not_said_to_be_unsaturated(tmp_path: Path, leave_out: frozenset[str]) -> None:
    san = San(tmp_path / "r.sanpath", leave_out=leave_out)
    for in_flight in (4, 16):
        san.step(
            f"t{in_flight}",
            in_flight,
            read=Flow(1000, in_flight / 1000),
            cpu=1.0,
            ports=dict.fromkeys((HOST_PORT.name, ARRAY_PORT.name), (66e6, 0.0)),
            disk={"read": Flow(1000, 0.0005)},
            array={"read": AtArray(0.0003, san=0.0001)},
        )
    found = judged(san.write()).summary
    assert found.verdict.startswith("The load generator is CPU-bound")
    assert ("nothing on the path is saturated" in found.verdict) == (not leave_out)
    assert "A process of the load used 100.0 % of a core" in (found.consequence or "")


def test_an_array_that_nobody_reads_is_named_by_its_port() -> None:
    """What lies behind the port is not known, so nothing says which end of the array is saturated."""
    found = diagnosed("saturated_array")
    (bottleneck,) = found.verdict.bottlenecks
    unread = replace(bottleneck, entity="array_port:fa1/CT0.FC0")
    changed = replace(found, verdict=replace(found.verdict, bottlenecks=(unread,)))
    words = summary(changed, resolve(recorded("saturated_array").inventory())).verdict
    assert words.startswith("Array behind port fa1 CT0.FC0 is saturated")


@pytest.mark.parametrize(
    ("kind", "action"),
    [
        ("concurrency_limited", "Run the test with more outstanding I/Os"),
        ("generator_limited", "Give the load generator more processes, or faster processors"),
        ("healthy", None),
        ("bottleneck", "Make link esx7 vmhba2–sw1 fc1/7 faster, or spread the load over more links"),
    ],
)
def test_what_removes_a_risk_is_not_the_first_action_against_a_limit(kind: VerdictKind, action: str | None) -> None:
    """Of a plan that only removes a risk, and of an empty one."""
    found = diagnosed("published")
    topology = resolve(recorded("published").inventory())
    risk = replace(found.plan[0], purpose="risk")
    for plan in ((risk,), ()):
        changed = replace(found, plan=plan, verdict=replace(found.verdict, kind=kind, decide_with=None))
        assert (summary(changed, topology).action, summary(changed, topology).plan_step) == (action, None)


@pytest.mark.parametrize(("grade", "is_trusted"), [("A", True), ("B", False), ("C", False)])
def test_a_better_test_brings_trust_only_to_a_verdict_that_lacks_it(grade: Grade, is_trusted: bool) -> None:
    found = diagnosed("rate_limited")
    longer = replace(diagnosed("published").plan[0], purpose="test", gain_ops_per_second=None)
    changed = replace(found, plan=(longer,), verdict=replace(found.verdict, grade=grade))
    gain = summary(changed, resolve(recorded("rate_limited").inventory())).gain or ""
    assert ("can be trusted" in gain) != is_trusted
    assert ("confidence A" in gain) == is_trusted


@pytest.mark.parametrize("name", sorted(STORIES))
def test_there_is_something_to_do_against_every_limit_also_where_no_rule_has_a_remedy(name: str) -> None:
    found = diagnosed(name)
    topology = resolve(recorded(name).inventory())
    if found.verdict.bottlenecks:
        assert summary(found, topology).action
        assert summary(replace(found, plan=()), topology).action


def test_a_mixed_load_is_summed_up_in_the_direction_that_waits_most(tmp_path: Path) -> None:
    """6,250 writes a second of 1 ms, and 500 reads of 100 ms: the reads are outstanding."""
    san = San(tmp_path)
    san.step("t", 64, read=Flow(500, 0.1), write=Flow(6250, 1e-3))
    consequence = judged(san.write()).summary.consequence or ""
    assert consequence.startswith("500 of 6,750 IOPS are reads of 64 KiB, at 100 ms with 50 outstanding reads")


@pytest.mark.parametrize("limit", ["hba:c3/eth1", "lun:c2/sdb"])
def test_of_several_hosts_the_one_with_the_limit_is_drawn(limit: str) -> None:
    """Each host is a path of the test: the limit of one of them is on a path."""
    items: list[SourceEntity | SourceLink] = []
    for host in ("c1", "c2", "c3"):
        load = ("load", f"fio/{host}/job")
        items.append(SourceEntity("host", host, host, {"name": (host,)}))
        items.append(SourceEntity(*load, load[1], {"name": (load[1],)}))
        items.append(SourceLink("runs_on", load, ("host", host), "fio --client"))
        for kind, name in (("lun", f"{host}/sdb"), ("hba", f"{host}/eth1")):
            items.append(SourceEntity(kind, name, name, {"name": (name,)}))
            items.append(SourceLink("attached_to", (kind, name), ("host", host), "its name"))
    found = diagnosed("published")
    bottleneck = replace(found.verdict.bottlenecks[0], entity=limit, coincident=(), wait_at=None, culprit=None)
    limited = replace(found, verdict=replace(found.verdict, bottlenecks=(bottleneck,)))
    drawn = summary_path(limited, resolve([("test", 0, item) for item in items]))
    host = limit.partition(":")[2].partition("/")[0]
    assert [element.entity for element in drawn.elements] == [f"load:fio/{host}/job", f"host:{host}", limit]
    assert drawn.elements[-1].role == "limits"
    assert not drawn.off_path


@pytest.mark.parametrize(
    ("story", "others"), [("unequal", ["esx7 vmhba3–sw1 fc1/8"]), ("published", []), ("cpu_bound", [])]
)
def test_the_other_links_of_the_host_are_beside_a_full_one(story: str, others: list[str]) -> None:
    """Where there is room on another path shows what to do; a limit elsewhere has nothing to do with it."""
    found = diagnosed(story)
    assert [element.name for element in found.summary.other_links] == others
    text = first_screen.other_links_text(found)
    assert text is None if not others else text is not None and "utilised" in text


@pytest.mark.parametrize(
    ("used", "full"),
    [(32, "full (32 slots)"), (31, "full (32 slots)"), (26.4, "nearly full (26 of 32)"), (8, "full (8 slots)")],
)
def test_a_queue_is_full_from_95_percent_of_its_slots(used: float, full: str) -> None:
    """Where many fewer are used, a limit below the depth that was read holds the I/Os back."""
    found, topology = diagnosed("published"), resolve(recorded("published").inventory())
    (step,) = (step for step in found.steps if step.name == found.verdict.from_step)
    (bottleneck,) = found.verdict.bottlenecks
    lun = next(entity.id for entity in topology.of_kind("lun"))
    plane = PlaneInFlight("host_lun", lun, "read", (used, used), admitted=32)
    verdict = replace(found.verdict, bottlenecks=(replace(bottleneck, entity=lun, kind="lun", coincident=()),))
    in_flight = replace(step.in_flight, planes=(plane,))
    said = summary(replace(found, verdict=verdict, steps=[replace(step, in_flight=in_flight)], plan=()), topology)
    assert said.verdict.endswith(f"is {full}")
    assert len(said.verdict.split()) <= 12
    assert said.action == "Raise the queue depth of device sqlvm1 sda above 32"


def test_queues_that_are_full_together_are_not_drawn_one_behind_the_other() -> None:
    items: list[SourceEntity | SourceLink] = [SourceEntity("host", "h", "h", {"name": ("h",)})]
    load = SourceEntity("load", "fio", "fio", {"name": ("fio",)})
    items += [load, SourceLink("runs_on", ("load", "fio"), ("host", "h"), "its name")]
    for name in ("sda", "sdb"):
        items.append(SourceEntity("lun", f"h/{name}", f"h/{name}", {"name": (f"h/{name}",)}))
        items.append(SourceLink("attached_to", ("lun", f"h/{name}"), ("host", "h"), "its name"))
    topology, found = resolve([("test", 0, item) for item in items]), diagnosed("published")
    link = replace(found.verdict.bottlenecks[0], wait_at=None, culprit=None)
    bottleneck = replace(link, entity="lun:h/sda", kind="lun", coincident=("lun:h/sdb",))
    planes = [PlaneInFlight("host_lun", "lun:h/sda", "read", (4, 4), admitted=4)]
    steps = [replace(step, in_flight=replace(step.in_flight, planes=planes)) for step in found.steps]
    limited = replace(found, verdict=replace(found.verdict, bottlenecks=(bottleneck,)), steps=steps)
    drawn = summary(limited, topology)
    assert [element.entity for element in drawn.path if element.role] == ["lun:h/sda"]
    assert [element.entity for element in drawn.off_path] == ["lun:h/sdb"]
    assert drawn.verdict == "Queues of sda and sdb on h are full (4 slots)"


def test_paths_used_one_at_a_time_are_marked_at_their_links(tmp_path: Path) -> None:
    found = over_two(tmp_path, 0.51, 0.50)
    assert found.verdict.bottlenecks[0].kind == "path_policy"
    said = found.summary
    assert said.verdict == "esx7 uses one of 2 links at a time (101 % together)"
    marked = [element for element in (*said.path, *said.off_path) if element.role == "limits"]
    assert {element.entity for element in marked} == set(found.verdict.bottlenecks[0].coincident)
    assert {first_screen.role(found, element) for element in marked} == {"ONE AT A TIME"}
    assert said.gain is not None
    assert "not tested" in said.gain


def test_links_that_no_switch_reports_are_named_by_their_ports(tmp_path: Path) -> None:
    """Then the host counts their bytes, and what the verdict names are its initiator ports."""
    found = over_two(tmp_path, 0.51, 0.50)
    first = found.verdict.bottlenecks[0]
    ports = tuple(link.replace("link:", "hba:").partition("--")[0] for link in first.coincident)
    uncounted = replace(found, verdict=replace(found.verdict, bottlenecks=(replace(first, coincident=ports),)))
    assert summary(uncounted, resolve([])).verdict == "esx7 uses one of 2 links at a time"


def test_where_nothing_is_judged_no_sentence_is_shown_twice(tmp_path: Path) -> None:
    found = judged(San(tmp_path).write())
    said = [found.summary.verdict, *filter(None, [found.summary.consequence])]
    assert ": ".join(said).lower() == found.verdict.headline.lower()
    assert all(line[:1].isupper() for line in said)


def test_one_kind_of_io_with_two_verdicts_is_told_by_its_steps() -> None:
    """Two sentences about reads of 8 KiB would contradict each other."""
    found = diagnosed("saturated_array")
    first, second, *_ = found.steps
    open_verdict = replace(found.verdict, bottlenecks=(), suspects=())
    others = [
        replace(open_verdict, kind="concurrency_limited", from_step=first.name),
        replace(open_verdict, kind="demand_limited", from_step=second.name),
    ]
    lines = list(other_io(found, resolve(()), others))
    assert [line.partition(":")[0] for line in lines] == [
        f"Reads of 8 KiB in {step.name}" for step in (first, second)
    ]


def test_a_sentence_about_the_end_of_the_load_follows_a_full_stop() -> None:
    found, topology = diagnosed("published"), resolve(recorded("published").inventory())
    unjudged = replace(found.verdict, headline="no step is long enough: nothing can be judged", from_step="")
    ended = replace(found, verdict=unjudged, run=replace(found.run, load_ended="The load ended with error 5."))
    assert summary(ended, topology).consequence == "Nothing can be judged. The load ended with error 5."


@pytest.mark.parametrize(
    ("others", "words"), [(1.0, "Other hosts move 50 % of the bytes read from the array"), (0.0, None)]
)
def test_a_full_array_that_works_for_other_hosts_says_so_at_once(
    tmp_path: Path, others: float, words: str | None
) -> None:
    found = load_of(tmp_path, SERVED, busy=0.995, others=others)
    assert found.verdict.bottlenecks[0].entity == "array:fa1"
    consequence = found.summary.consequence or ""
    assert words in consequence if words is not None else "Other hosts" not in consequence


@pytest.mark.parametrize(
    ("ratio", "depth", "is_shown"),
    [(0.3, 32, True), (0.95, 32, False), (0.3, 64, False)],
    ids=["much slower", "as fast", "another load, which is paced"],
)
def test_a_much_slower_repetition_is_beside_the_verdict(
    tmp_path: Path, ratio: float, depth: int, is_shown: bool
) -> None:
    """Twice 32 outstanding I/Os: the second time something else took most of the array."""
    san = San(tmp_path / "r.sanpath")
    for name, ops, offered in (("first", 20_000.0, 32), ("second", ratio * 20_000, depth)):
        san.step(name, offered, read=Flow(ops, 32 / ops), array={"read": AtArray(31 / ops)})
    text = judged(san.write()).summary.consequence or ""
    assert ("The same load reached 6,000 IOPS in step second." in text) == is_shown, text
