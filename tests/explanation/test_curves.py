"""Throughput over outstanding I/Os: where the knee is, how sure that is, and what is no plateau at all."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Curve
from sanpath.explanation.curves import curves
from sanpath.explanation.scalability import fit_scalability
from sanpath.facts.load.access import Access
from sanpath.facts.load.loads import LoadFacts
from sanpath.topology.resolve import resolve
from sanpath.views.json import render
from sanpath.views.terminal_report import render as as_text
from sanpath.views.words import io_words
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, San
from tests.support.stories import NOTHING, diagnosed, fast, judged


def law(rate: float, contention: float, coherency: float, in_flight: Sequence[int]) -> list[float]:
    return [rate * n / (1 + contention * (n - 1) + coherency * n * (n - 1)) for n in in_flight]


def swept(folder: Path, points: Sequence[tuple[float, float]], size: float = 8 * KIB) -> Curve:
    """One step a (in flight, operations a second) over 32GFC links and an array that say nothing."""
    san = San(folder, ports=[fast(HOST_PORT, 32), fast(ARRAY_PORT, 32)])
    for n, ops in points:
        ports = {p.name: (ops * size * 1.03, NOTHING) for p in san.ports}
        san.step(f"q{n:g}", n, block=size, read=Flow(ops, n / ops), ports=ports, array={"read": AtArray(1e-4)})
    (curve,) = judged(san.write()).verdict.curves
    return curve


MIB = 1024 * KIB
SEVEN = (1, 2, 4, 8, 16, 32, 64)


@pytest.mark.parametrize(("contention", "coherency"), [(0.05, 0.0), (0.03, 0.0005), (0.0, 0.001), (0.2, 0.0)])
@pytest.mark.parametrize("seed", range(5))
def test_the_intervals_hold_the_law_that_made_the_points(contention: float, coherency: float, seed: int) -> None:
    """Two parts in a hundred of noise, and the fit is told so."""
    chance = random.Random(seed)
    noisy = [x * (1 + chance.gauss(0, 0.02)) for x in law(1000, contention, coherency, SEVEN)]
    found = fit_scalability(SEVEN, noisy, [0.02] * len(SEVEN), is_retrograde=False)
    assert found is not None
    slack = 0.01, 0.0004  # one in twenty may lie outside, and then by little
    assert found.contention[0] - slack[0] <= contention <= found.contention[1] + slack[0]
    assert found.coherency[0] - slack[1] <= coherency <= found.coherency[1] + slack[1]
    assert found.rate_of_one == pytest.approx(1000, rel=0.1)


def test_exact_points_give_the_law_back() -> None:
    found = fit_scalability(SEVEN, law(1000, 0.05, 0, SEVEN), [None] * 7, is_retrograde=False)
    assert found is not None
    assert found.rate_of_one == pytest.approx(1000)
    assert found.misfit < 1e-9
    assert found.knee[0] <= 20 <= found.knee[1] * 1.01  # 1 / 0.05
    assert found.peak_in_flight is None


def test_more_noise_is_less_certain() -> None:
    points = law(1000, 0.05, 0, SEVEN)
    sure, unsure = (fit_scalability(SEVEN, points, [spread] * 7, is_retrograde=False) for spread in (0.01, 0.05))
    assert sure is not None
    assert unsure is not None
    assert unsure.knee[1] - unsure.knee[0] > 1.5 * (sure.knee[1] - sure.knee[0])


def test_a_published_knee(tmp_path: Path) -> None:
    """Jetstress, sessions against IOPS: a plateau from 16 sessions on, +4 % for three times as many."""
    curve = swept(tmp_path, [(4, 752), (8, 1670), (16, 2923), (32, 2964), (40, 2990), (50, 3044)])
    assert curve.shape == "plateau"
    assert "from 16 to 50 outstanding I/Os: more add only latency" in curve.said
    assert curve.knee.in_flight is not None
    assert 8 <= curve.knee.in_flight[0] <= 16 <= curve.knee.in_flight[1] <= 24


def test_three_steps_alike_end_a_rise(tmp_path: Path) -> None:
    """Also where the step with half as many outstanding I/Os was still below the plateau."""
    points = [(1, 1218), (2, 2178), (3, 2891), (4, 3468), (5, 3566), (6, 3565), (7, 3564)]
    curve = swept(tmp_path / "alike", points)
    assert (curve.shape, curve.said) == ("plateau", "3,564 IOPS from 5 to 7 outstanding I/Os: more add only latency")
    assert swept(tmp_path / "two", points[:-1]).shape == "rising"


def test_a_collapse_is_no_plateau(tmp_path: Path) -> None:
    """The hybrid of the same test: 204, 251 and 124 IOPS at 2, 3 and 4 sessions."""
    curve = swept(tmp_path, [(2, 204), (3, 251), (4, 124)])
    assert curve.shape == "retrograde"
    assert curve.said.startswith(
        "251 IOPS at 3 outstanding I/Os fall to 124 IOPS at 4, while latency grows from 12.0 ms to 32.3"
    )
    assert curve.knee.said == "3 queue depths tested, and a fit needs 4"


def test_another_workload_of_the_same_queue_depth_is_no_collapse(tmp_path: Path) -> None:
    """Four jobs on four file systems, each with 128 outstanding: none of them is more load than another."""
    san = San(tmp_path)
    for name, ops, in_flight in (("a", 112.0, 120), ("b", 54.0, 127)):
        san.step(name, 128, read=Flow(ops, in_flight / ops), disk={"read": Flow(ops, 30 / ops)})
    recording = san.write()
    assert judged(recording).verdict.curves[0].shape == "unknown"
    assert "collapse" not in as_text(diagnose(recording))


def test_a_collapse_with_enough_steps_tells_its_peak(tmp_path: Path) -> None:
    """κ = 0.002, σ = 0.02: the peak is at sqrt(0.98 / 0.002) = 22."""
    points = law(1000, 0.02, 0.002, (1, 4, 16, 64, 128))
    curve = swept(tmp_path, list(zip((1, 4, 16, 64, 128), points, strict=True)))
    assert curve.shape == "retrograde"
    assert curve.knee.law is not None
    assert curve.knee.law.peak_in_flight is not None
    assert curve.knee.law.peak_in_flight[0] <= 22.2 <= curve.knee.law.peak_in_flight[1]
    assert curve.knee.law.coherency[0] > 0


@pytest.mark.parametrize("fall", [0.0, 0.03, 0.06, 0.09, 0.14, 0.3, 0.6])
def test_single_figures_of_runs_fall_only_if_they_clearly_do(fall: float) -> None:
    """They do not tell how much runs of their length scatter, up or down."""
    rates = {64: 15_399.0, 128: 15_399 * (1 - fall), 512: 15_399 * (1 - fall)}
    loads = [
        LoadFacts(("load:l",), f"q{n}", "read", 1, ops, ops * 65536, n / ops, n, n, None, summary=True)
        for n, ops in rates.items()
    ]
    (curve,) = curves(resolve([]), loads)
    assert curve.shape == ("retrograde" if fall > 0.15 else "plateau")


def test_curves_of_several_patterns_are_named_by_them() -> None:
    loads = [
        LoadFacts(
            ("load:l",), f"{r}-{n}", "read", 9, 1e3 * n, 8e6 * n, 1e-3, n, n, None, access=Access(random_ratio=r)
        )
        for r in (0.0, 0.4, 1.0)
        for n in (1, 4)
    ]
    found = curves(resolve([]), loads)
    assert {curve.pattern for curve in found} == {"sequential", "40 % random", "random"}
    assert all(len(curve.points) == 2 for curve in found)
    assert len({io_words(curve, found) for curve in found}) == 3
    assert {io_words(curve, [curve]) for curve in found} == {" of 7.8 KiB"}


def test_below_the_fewest_tested_above_the_most_and_one_step(tmp_path: Path) -> None:
    (story,) = diagnosed("published").verdict.curves
    assert (story.shape, story.knee.below, story.knee.in_flight) == ("plateau", pytest.approx(16, rel=0.01), None)
    rising = swept(tmp_path / "rising", [(n, n / 0.0005) for n in (1, 2, 4, 8, 16, 32)])
    assert (rising.shape, rising.knee.in_flight) == ("rising", None)
    assert rising.knee.said == "above the most tested, 32"
    one = swept(tmp_path / "one", [(4, 2000)])
    assert (one.shape, one.knee.law) == ("one_step", None)
    close = swept(tmp_path / "close", [(10, 2000), (12, 2100)])
    assert close.shape == "unknown"


def test_reads_writes_and_sizes_have_curves_of_their_own(tmp_path: Path) -> None:
    assert {c.direction for c in diagnosed("mixed").verdict.curves} == {"read", "write"}
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)])
    for block, ops in ((8 * KIB, 4000.0), (64 * KIB, 2000.0)):
        for n in (1, 4):
            ports = {p.name: (ops * block * 1.02, NOTHING) for p in san.ports}
            san.step(f"{block}-{n}", n, block=block, read=Flow(ops, n / ops), ports=ports)
    found = judged(san.write()).verdict.curves
    assert [(c.operation_bytes, len(c.points)) for c in found] == [(8 * KIB, 2), (64 * KIB, 2)]


def test_the_report_and_the_json_tell_it() -> None:
    reported = " ".join(as_text(diagnosed("saturated_array"), 100).split())
    assert "read of 8 KiB: plateau, 101,000 IOPS from 64 to 256 outstanding I/Os: more add only latency" in reported
    assert "3 queue depths tested, and a fit needs 4" in reported
    found = json.loads(render(diagnosed("published")))["verdict"]["curves"][0]
    assert found["shape"] == "plateau"
    assert found["knee"]["law"]["contention"][0] > 0.5


def test_files_of_one_run_each_make_one_curve() -> None:
    """Their loads have names of their own, and no file says which machine it was."""
    loads = [
        LoadFacts((f"load:fio-{n}",), f"q{n}", "read", 9, 100.0 * n, 4096e2 * n, 0.01, float(n), float(n), None)
        for n in (1, 2, 4)
    ]
    (curve,) = curves(resolve(()), loads)
    assert [point.in_flight for point in curve.points] == [1, 2, 4]


def _written(points: Sequence[tuple[float, float, float]], flushes_in_flight: float = 0.0) -> list[LoadFacts]:
    """(configured, in flight, operations a second) of each step, writes of 1 MiB."""
    return [
        LoadFacts(
            ("load:fio",),
            f"s{number}",
            "write",
            9,
            ops,
            ops * MIB,
            n / ops,
            configured,
            n,
            None,
            flushes_in_flight=flushes_in_flight,
        )
        for number, (configured, n, ops) in enumerate(points)
    ]


def test_where_repetitions_of_a_depth_differ_as_much_throughput_does_not_fall_under_load() -> None:
    """A drive that slows down with time: 3,259 and 3,257 with 32 in its first minutes, then 758 and 262."""
    slowing = [(2, 2, 3264.0), (2, 2, 3261), (32, 32, 3259), (32, 32, 3257), (32, 32, 758), (32, 26, 262)]
    (curve,) = curves(resolve(()), _written(slowing))
    assert curve.shape == "unknown"
    assert curve.said.startswith(
        "repetitions with 32 outstanding I/Os range from 262 IOPS to 3,259 IOPS: the load is not"
    )
    (falling,) = curves(resolve(()), _written([(2, 2, 3264.0), (2, 2, 3000), (32, 32, 760), (32, 32, 758)]))
    assert falling.shape == "retrograde"


@pytest.mark.parametrize("lighter", [[], [(4, 4, 200.0)]], ids=["one depth", "two depths"])
def test_steps_with_as_many_outstanding_ios_and_other_results_show_no_effect_of_more(
    lighter: list[tuple[int, int, float]],
) -> None:
    """32 over one connection and over four: what differs is not how many there are."""
    (curve,) = curves(resolve(()), _written([*lighter, (32, 32, 201.0), (32, 32, 800)]))
    assert curve.shape == "unknown"
    assert curve.said.startswith("repetitions with 32 outstanding I/Os range from 201 IOPS to 800 IOPS")


def test_writes_with_and_without_flushes_are_two_curves() -> None:
    """With fsync the time in the flush is none of a write."""
    plain = [(1, 1, 40_000.0), (4, 4, 160_000), (16, 16, 400_000)]
    flushed = [(1, 0.03, 1000.0), (4, 0.3, 3000), (16, 1.5, 7000)]
    found = curves(resolve(()), [*_written(plain), *_written(flushed, flushes_in_flight=1.0)])
    assert [(c.flushes, c.shape, len(c.points)) for c in found] == [(False, "rising", 3), (True, "rising", 3)]
    reported = as_text(replace(diagnosed("mixed"), verdict=replace(diagnosed("mixed").verdict, curves=found)), 300)
    assert "write of 1024 KiB with flushes: rising" in reported


def test_the_nearest_step_that_was_given_fewer_counts() -> None:
    """16 given and 8 in flight beside 16 and 16: what 16 more bring is seen beside the 8 that were configured."""
    (curve,) = curves(resolve(()), _written([(4, 4, 8000.0), (8, 8, 16_000), (32, 15, 40_000), (32, 32, 50_000)]))
    assert curve.shape == "rising"
    assert curve.said.startswith("32 outstanding I/Os, 4.0 times as many as 8, give 212 % more")


def test_a_curve_that_bends_slowly_has_no_knee(tmp_path: Path) -> None:
    """A disk that sorts its queue: at 4 to 8 it has half of what it reaches with 64."""
    disk = (245, 343, 484, 630, 772, 906, 1017, 1009, 1014)
    curve = swept(tmp_path, [(2**power, ops) for power, ops in enumerate(disk)])
    assert (curve.shape, curve.knee.in_flight) == ("plateau", None)
    assert curve.knee.said == "not sharp: 5.4 outstanding I/Os reach only 53 % of the highest throughput"


def test_an_interval_that_says_nothing_is_no_knee() -> None:
    """Throughput that jumps up and down determines no law."""
    jumping = [(1, 1, 1000.0), (2, 2, 400), (4, 4, 2900), (8, 8, 900), (16, 16, 3000)]
    (curve,) = curves(resolve(()), _written(jumping))
    assert (curve.knee.in_flight, curve.knee.law) == (None, None)
    assert curve.knee.said == "the steps do not show a knee"


def test_steps_that_were_given_as_many_outstanding_ios_show_no_effect_of_more() -> None:
    """Two file systems, 32 I/Os each: one keeps 2 of them outstanding."""
    one, other = (
        LoadFacts(("load:fio",), f"on {ops}", "write", 9, ops, ops * MIB, n / ops, 32.0, n, None)
        for n, ops in ((2.0, 10.0), (32.0, 1000.0))
    )
    (curve,) = curves(resolve(()), [one, other])
    assert curve.shape == "unknown"
