"""Two runs side by side: what may be compared, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.comparison.changed_settings import changed_settings, confounded
from sanpath.comparison.compare import compare
from sanpath.comparison.differences import Difference
from sanpath.comparison.performance_changes import throughput_spread
from sanpath.comparison.repeatability import reproducibility_limit
from sanpath.diagnosis.model import Diagnosis, DirectionResult
from sanpath.model import Scalar
from sanpath.units import percent, percent_change
from sanpath_collectors.fio.tables import LOAD
from tests.support.recording import RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, X, diagnosed, judged


def swept(
    folder: Path,
    speed: float = 4,
    ops: float = X,
    array_speed: float | None = None,
    block: float = 64 * KIB,
    in_flight: Sequence[int] = (64, 256),
) -> Diagnosis:
    """64 KiB steps of `ops` each, N / ops of latency; 415.2 MB/s counted a 6,250 IOPS, 97.7 % of 4GFC."""
    ports = [replace(HOST_PORT, speed=speed), replace(ARRAY_PORT, speed=array_speed or speed)]
    san = San(folder, ports=ports)
    for n in in_flight:
        counted = {port.name: (COUNTED * ops / X * block / 65536, NOTHING) for port in ports}
        flow = Flow(ops, n / ops)
        san.step(f"q{n}", n, block=block, read=flow, ports=counted, array={"read": AtArray(0.0003)})
    return judged(san.write())


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Diagnosis:
    """Both links at 4GFC, full."""
    return swept(tmp_path_factory.mktemp("before"))


def test_a_relieved_link_and_nothing_in_its_place_is_fixed(before: Diagnosis, tmp_path: Path) -> None:
    """At 8GFC 9,000 IOPS are 70.3 %, 44 % more; 256 / 9,000 = 28.4, not 41.0 ms. At most 12,595 were predicted."""
    after = swept(tmp_path, speed=8, ops=9000)
    found = compare(before, after)
    assert found.outcome == "FIXED"
    assert found.headline.startswith("FIXED: +44.0 % throughput and -30.6 % latency at 256 outstanding reads")
    assert [(p.before_step, p.after_step, p.in_flight) for p in found.pairs] == [
        ("q64", "q64", 64),
        ("q256",) * 2 + (256,),
    ]
    assert all(p.throughput_change == pytest.approx(0.44, rel=1e-3) for p in found.pairs)
    assert all(p.latency_change == pytest.approx(6250 / 9000 - 1, rel=1e-3) for p in found.pairs)
    assert found.predicted_ops_per_second == pytest.approx((6250, 12_595), rel=1e-3)
    assert found.unmatched == ()


def test_another_element_in_its_place_is_moved(before: Diagnosis, tmp_path: Path) -> None:
    """The host at 16GFC, the array's port at 8GFC and full: 12,500 IOPS are 830.4 of 850 MB/s."""
    after = swept(tmp_path, speed=16, array_speed=8, ops=2 * X)
    found = compare(
        replace(before, verdict=replace(before.verdict, bottlenecks=before.verdict.bottlenecks[:1])), after
    )
    assert found.outcome == "MOVED"
    assert found.headline.startswith("MOVED to link:sw1/fc1/1--fa1/CT0.FC0: +100 % throughput")


def test_the_link_that_was_full_together_with_the_first_is_no_new_place(before: Diagnosis, tmp_path: Path) -> None:
    """Only the host's port was made faster: the array's was as full all the time, and nothing is gained."""
    found = compare(before, swept(tmp_path, speed=16, array_speed=4))
    assert found.outcome == "NO CHANGE"


def test_the_same_test_again_is_no_change(before: Diagnosis, tmp_path: Path) -> None:
    found = compare(before, swept(tmp_path, ops=1.02 * X))
    assert found.outcome == "NO CHANGE"
    assert "(differences below 3.0 % are chance)" in found.headline


def test_a_tenth_less_is_worse(before: Diagnosis, tmp_path: Path) -> None:
    found = compare(before, swept(tmp_path, ops=0.9 * X))
    assert found.outcome == "WORSE"
    assert "-10.0 % throughput and +11.1 % latency" in found.headline


def test_the_same_link_full_at_twice_its_speed_is_another_limit(before: Diagnosis, tmp_path: Path) -> None:
    """8GFC, and full again at 12,500 IOPS: the limit of 4GFC is gone, and the same link at 8GFC came in its place."""
    found = compare(before, swept(tmp_path, speed=8, ops=2 * X))
    assert found.outcome == "MOVED"
    assert found.headline.startswith("MOVED to link:esx7/vmhba2--sw1/fc1/7 at its new ceiling of 825")


def _tenth_more(directions: Mapping[str, DirectionResult]) -> dict[str, DirectionResult]:
    return {
        d: replace(r, ops_per_second=1.1 * r.ops_per_second, bytes_per_second=1.1 * r.bytes_per_second)
        for d, r in directions.items()
    }


def test_more_through_the_same_bottleneck_is_better_and_not_fixed() -> None:
    """An array publishes no ceiling: it is the same limit that gives a tenth more."""
    was = diagnosed("saturated_array")
    after = replace(was, steps=[replace(s, directions=_tenth_more(s.directions)) for s in was.steps])
    assert was.verdict.bottlenecks[0].kind in ("array", "volume")
    assert compare(was, after).outcome == "BETTER"


def _times(run: Diagnosis, ratios: Mapping[str, float]) -> Diagnosis:
    """The run with so many times the throughput in each of these steps, at as many outstanding I/Os."""
    steps = []
    for step in run.steps:
        ratio = ratios.get(step.name, 1.0)
        result = step.directions["read"]
        changed = replace(
            result,
            ops_per_second=result.ops_per_second * ratio,
            bytes_per_second=result.bytes_per_second * ratio,
            latency_seconds=replace(result.latency_seconds, mean=result.latency_seconds.mean / ratio),
        )
        steps.append(replace(step, directions={"read": changed}))
    return replace(run, steps=steps)


@pytest.mark.parametrize(
    ("deep", "shallow", "outcome", "said"),
    [
        (1.5, 0.8, "MIXED", "-20.0 % throughput and +25.0 % latency at 64 outstanding reads in q64"),
        (0.5, 1.2, "MIXED", "+20.0 % throughput and -16.7 % latency at 64 outstanding reads in q64"),
        (1.0, 0.8, "NO CHANGE", "-20.0 % throughput and +25.0 % latency at 64 outstanding reads in q64"),
        (1.5, 0.96, "FIXED", ""),
        (0.9, 0.7, "WORSE", ""),
    ],
)
def test_steps_that_changed_in_opposite_senses_are_mixed(
    before: Diagnosis, deep: float, shallow: float, outcome: str, said: str
) -> None:
    """3 % may be chance, and of several pairs one may exceed that: 4 % less beside 50 % more are none."""
    after = _times(before, {"q64": shallow, "q256": deep})
    found = compare(before, replace(after, verdict=replace(after.verdict, bottlenecks=(), kind="healthy")))
    assert found.outcome == outcome
    assert found.headline.startswith(f"{outcome}: {percent_change(deep - 1)} throughput")
    assert ("; but " in found.headline) is bool(said)
    assert said in found.headline


def test_without_a_bottleneck_before_more_is_better(tmp_path: Path) -> None:
    before, after = (swept(tmp_path / str(ops), speed=16, ops=ops, in_flight=(1,)) for ops in (2000.0, 3000.0))
    assert before.verdict.bottlenecks == ()
    assert compare(before, after).outcome == "BETTER"
    assert compare(before, after).predicted_ops_per_second is None


def test_steps_without_a_peer_are_named_and_the_others_compared(before: Diagnosis, tmp_path: Path) -> None:
    """64 and 256 before, 256 and 512 after: only 256 is in both."""
    found = compare(before, swept(tmp_path, in_flight=(256, 512)))
    assert [(p.before_step, p.after_step) for p in found.pairs] == [("q256", "q256")]
    assert found.unmatched == ("q64 (before)", "q512 (after)")


def test_nothing_in_common_is_said_and_not_judged(before: Diagnosis, tmp_path: Path) -> None:
    found = compare(before, swept(tmp_path, in_flight=(16,)))
    assert (found.outcome, found.pairs) == (None, ())
    assert found.headline == "No step of one run matches a step of the other in outstanding I/Os and block size."
    assert set(found.unmatched) == {"q64 (before)", "q256 (before)", "q16 (after)"}


def test_other_block_sizes_are_never_compared(before: Diagnosis, tmp_path: Path) -> None:
    """8 KiB and eight times the IOPS move the same bytes with as many in flight."""
    found = compare(before, swept(tmp_path, block=8 * KIB, ops=8 * X))
    assert (found.outcome, found.pairs) == (None, ())


def test_reads_are_not_compared_with_writes() -> None:
    assert compare(diagnosed("published"), diagnosed("published_write")).pairs == ()


def test_a_run_beside_itself_has_not_changed() -> None:
    found = compare(diagnosed("mixed"), diagnosed("mixed"))
    assert found.outcome == "NO CHANGE"
    assert {p.direction for p in found.pairs} == {"read", "write"}
    assert all((p.throughput_change, p.latency_change) == (0, 0) for p in found.pairs)


def noisy(diagnosis: Diagnosis, spread: float) -> Diagnosis:
    """The same run, its windows further apart."""
    return replace(
        diagnosis,
        steps=[
            replace(s, directions={d: replace(r, throughput_spread=spread) for d, r in s.directions.items()})
            for s in diagnosis.steps
        ],
    )


def test_what_the_windows_vary_by_is_chance(before: Diagnosis, tmp_path: Path) -> None:
    """Standard errors of 3 % and 4 %: 2 x 5 % = 10 %, so that 8 % less is no change."""
    after = swept(tmp_path, ops=0.92 * X)
    assert compare(before, after).outcome == "WORSE"
    found = compare(noisy(before, 0.03), noisy(after, 0.04))
    assert [p.spread for p in found.pairs] == pytest.approx([0.1, 0.1])
    assert found.outcome == "NO CHANGE"


def test_windows_that_vary_raise_what_counts_as_chance(tmp_path: Path) -> None:
    """1,000 and 3,000 IOPS in turn: standard deviation 1,000 x sqrt(n / (n - 1)), which is 1,000 / sqrt(n - 1) of the
    mean of 2,000; for n windows 0.5 / sqrt(n - 1), twice and from two runs 2 x sqrt(2) of that."""
    out = RecordingBuilder(tmp_path)
    out.source("fio", "fio", LOAD)
    mark: dict[str, Scalar] = {"step": "s", "group": 0, "loads": "fio/s", "offered": 4, "block_bytes": 4096}
    out.event("fio", 0, "step-begin", **mark)
    out.event("fio", 21, "step-end", **mark)
    done = 0
    for at in range(22):
        out.samples("fio", LOAD, at, {"fio/s": {"ops_read_total": done, "latency_seconds_read_total": done * 10**6}})
        done += 1000 if at % 2 else 3000
    found = judged(out.write())
    n = found.steps[0].windows_used
    assert n >= 16
    spread = found.steps[0].directions["read"].throughput_spread
    assert spread == pytest.approx(0.5 / (n - 1) ** 0.5, rel=0.02)
    (pair,) = compare(found, found).pairs
    assert pair.spread == pytest.approx(2 * 2**0.5 * 0.5 / (n - 1) ** 0.5, rel=0.02)


def test_steady_windows_leave_the_least_change_that_counts(tmp_path: Path) -> None:
    steady = swept(tmp_path, speed=16, ops=2000)
    assert all(p.spread == 0.03 for p in compare(steady, steady).pairs)


def with_runs(diagnosis: Diagnosis, *ratios: float) -> Diagnosis:
    """A run whose step q256 ran once for each ratio, with so much of its throughput."""
    step = next(s for s in diagnosis.steps if s.name == "q256")
    result = step.directions["read"]
    rate, size = result.ops_per_second, result.bytes_per_second
    steps = [
        replace(
            step,
            name="q256" if number == 0 else f"q256 ({number + 1})",
            directions={"read": replace(result, ops_per_second=rate * ratio, bytes_per_second=size * ratio)},
        )
        for number, ratio in enumerate(ratios)
    ]
    return replace(diagnosis, steps=steps)


@pytest.mark.parametrize(
    ("after", "outcome", "within"),
    [(1.008, "NO CHANGE", True), (1.012, "BETTER", False), (0.985, "WORSE", False)],
)
def test_no_change_is_said_only_within_the_spread_of_the_repetitions(
    before: Diagnosis, after: float, outcome: str, within: bool
) -> None:
    """0.995 and 1.005 of the throughput: the repetitions differ by 1 %, which replaces the 3 % of a single run."""
    found = compare(with_runs(before, 0.995, 1.005), with_runs(before, 0.995 * after))
    (pair,) = found.pairs
    assert pair.repetitions == (2, 1)
    assert pair.spread == pytest.approx(0.01)
    assert found.outcome == outcome
    change = next(c for c in pair.changes if c.quantity == "ops_per_second")
    assert (change.spread, change.is_within_spread) == (pytest.approx(0.01), within)
    assert "its repetitions differ by 1.0 %" in found.headline
    assert found.unmatched == ()
    assert found.remarks == ()


@pytest.mark.parametrize(("after", "outcome"), [(1.02, "BETTER"), (1.005, "NO CHANGE")])
def test_a_step_that_was_not_repeated_is_held_to_the_spread_of_those_that_were(
    before: Diagnosis, after: float, outcome: str
) -> None:
    """Another step ran twice, 0.1 % apart: s = 0.0707 %, and t(1) x sqrt(2) x s = 1.27 %."""
    others = [replace(step, name=f"other{step.name[4:]}", in_flight=replace(step.in_flight, configured=4.0))
              for step in with_runs(before, 0.9995, 1.0005).steps]  # fmt: skip
    once = with_runs(before, 1.0)
    found = compare(replace(once, steps=[*once.steps, *others]), with_runs(before, after))
    (pair,) = found.pairs
    assert pair.spread == pytest.approx(0.0127, rel=1e-3)
    assert found.outcome == outcome
    assert "(changes below 1.3 % may be chance, judging by repetitions of other steps)" in found.headline
    assert "differ by up to 0.1 % in throughput, so that two runs of one step may differ by 1.3 %" in found.remarks[0]


def test_the_more_often_steps_are_repeated_the_less_is_chance(before: Diagnosis) -> None:
    """The same deviations, seen 1, 3 and 9 times: t falls from 12.7 to 2.3, and s with the degrees of freedom."""
    ratios = (0.99, 1.01)
    limits = [reproducibility_limit([with_runs(before, *ratios * times).steps]) for times in (1, 2, 5)]
    freedom = (1, 3, 9)
    for limit, quantile, degrees in zip(limits, (12.706, 3.182, 2.262), freedom, strict=True):
        assert limit == pytest.approx(quantile * (2 * (degrees + 1) / degrees) ** 0.5 * 0.01, rel=0.003)
    assert reproducibility_limit([before.steps]) is None


def test_a_limit_that_still_limits_beside_others_has_not_moved(before: Diagnosis) -> None:
    """More throughput, and the old link is one of several suspects of one limit; or a limit of writes is new."""
    (old,) = before.verdict.bottlenecks
    policy = replace(old, entity="load:fio", kind="load", coincident=(old.entity, "link:b"))
    writes = replace(old, entity="lun:esx7/rdm1", kind="lun", direction="write")
    for limits in ((policy,), (old, writes)):
        after = with_runs(before, 1.2)
        found = compare(before, replace(after, verdict=replace(after.verdict, bottlenecks=limits)))
        assert found.outcome == "BETTER"
        assert "MOVED" not in {finding.outcome for finding in found.findings if finding.rule == "bottleneck"}


@pytest.mark.parametrize("noise", [0.0, 0.002, 0.02, 0.1])
@pytest.mark.parametrize("after", [0.9, 0.98, 1.005, 1.03, 1.2])
def test_the_row_of_throughput_agrees_with_the_outcome(before: Diagnosis, noise: float, after: float) -> None:
    """`noise`: what the windows of a step allow, beside its repetitions."""

    def noisy(run: Diagnosis) -> Diagnosis:
        steps = [
            replace(step, directions={d: replace(r, throughput_spread=noise) for d, r in step.directions.items()})
            for step in run.steps
        ]
        return replace(run, steps=steps)

    found = compare(noisy(with_runs(before, 0.995, 1.005)), noisy(with_runs(before, after)))
    (pair,) = found.pairs
    change = next(c for c in pair.changes if c.quantity == "ops_per_second")
    assert change.spread == pair.spread
    assert change.is_within_spread is (found.outcome == "NO CHANGE")
    assert percent(pair.spread) in found.headline
    assert ("repetitions differ" in found.headline) is (noise < 0.01 / (2 * 2**0.5))


def test_a_single_run_does_not_know_its_spread(before: Diagnosis) -> None:
    found = compare(before, before)
    assert {c.is_within_spread for pair in found.pairs for c in pair.changes} == {None}
    assert found.remarks[0].startswith("No step was repeated")
    assert throughput_spread(before.steps) is None
    assert throughput_spread(with_runs(before, 0.995, 1.005).steps) == pytest.approx(0.01)


def test_a_maximum_that_changed_otherwise_than_the_mean_is_in_the_headline(before: Diagnosis) -> None:
    found = compare(with_maximum(before, 0.424), with_maximum(before, 0.145))
    assert found.headline.endswith("; the maximum of read went from 424 ms to 145 ms (-65.8 %).")
    assert [c.quantity for c in found.pairs[0].changes][-1] == "latency_max_seconds"
    same = compare(with_maximum(before, 0.424), with_maximum(before, 0.4))
    assert "maximum" not in same.headline


def with_maximum(diagnosis: Diagnosis, seconds: float) -> Diagnosis:
    steps = [
        replace(
            step,
            directions={
                direction: replace(result, latency_seconds=replace(result.latency_seconds, max=seconds))
                for direction, result in step.directions.items()
            },
        )
        for step in diagnosis.steps
    ]
    return replace(diagnosis, steps=steps)


def test_several_settings_at_once_cannot_be_told_apart() -> None:
    lun, disk = "lun:esx7/rdm1", "vdisk:sqlvm1/rdm1"
    policy = Difference(lun, "path_policy", "most_recently_used", "round_robin")
    native = Difference(lun, "path_policy_native", "VMW_PSP_MRU", "VMW_PSP_RR")
    adapter = Difference(disk, "controller_type", "lsi_logic", "pvscsi")
    its_queue = Difference(disk, "queue_depth", 32.0, 64.0)
    used = Difference("hba:esx7/vmhba3", "used", None, True)
    assert changed_settings([policy, native, used]) == ("path policy",)
    assert confounded([policy, native, used]) is None
    assert changed_settings([adapter, its_queue]) == ("adapter type",)
    assert confounded([adapter, its_queue, policy, native, Difference(lun, "queue_depth", 32.0, 128.0)]) == (
        "3 settings changed at once (adapter type, path policy, queue depth): this comparison cannot show which of "
        "them helped; change one first: path policy (no downtime)."
    )
    names = [
        Difference("switch:sw1", setting, before, after)
        for setting, before, after in (
            ("description", "old", "new"),
            ("domain_id", 1, 2),
            ("serial", "a", "b"),
        )
    ]
    assert confounded([*names, policy]) is None, "a name is no setting"
    read_once = [
        Difference("host:esx7", "os_version", None, "8.0.2"),
        Difference(lun, "scheduler", "none", None),
        Difference(disk, "controller_type", None, "pvscsi"),
    ]
    assert changed_settings([*read_once, policy]) == ("path policy",)
    limit = Difference(disk, "limit_ops_per_second", None, 5000.0)
    assert changed_settings([limit, policy]) == ("IOPS limit", "path policy"), "no limit is a setting"
    ends = [Difference(f"switch_port:sw1/fc1/{n}", "speed", "4GFC", "8GFC") for n in (1, 7)]
    assert changed_settings(ends) == ("link speed",)
