"""Round Robin that sends a batch down one path, then the next: two links, the throughput of one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.model import Scalar
from sanpath.verdict.hypotheses import path_policy
from sanpath.verdict.hypotheses.path_policy import in_turn_weight
from tests.support.esx_san import EsxSan
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.stories import NOTHING, SECOND_HBA, SECOND_TARGET, fast, judged

HOST_LINKS = ("link:esx7/vmhba2--sw1/fc1/7", "link:esx7/vmhba3--sw1/fc1/8")


def over_two(
    folder: Path,
    first: float,
    second: float,
    in_flight: tuple[int, ...] = (64, 256),
    lun: Mapping[str, Scalar] | None = None,
) -> Diagnosis:
    """Two 4GFC ports of the host, busy `first` and `second`; 64 KiB are counted as 32 x 2,076 bytes, so 425 MB/s x
    (0.51 + 0.50) are 6,461 IOPS. The array's one port is 16GFC: it is not what is used in turn.

    `lun`: its attributes on the host, None: not read."""
    ports = [HOST_PORT, SECOND_HBA, fast(ARRAY_PORT)]
    san = San(folder, ports=ports) if lun is None else EsxSan(folder, ports=ports, lun=lun, shares=(0.5, 0.5))
    held = first + second > 0.9
    ops = 425e6 * (first + second) / (32 * 2076)
    for n in in_flight:
        san.step(
            f"q{n}",
            n,
            read=Flow(ops, n / ops),
            ports={
                HOST_PORT.name: (425e6 * first, NOTHING),
                SECOND_HBA.name: (425e6 * second, NOTHING),
                ARRAY_PORT.name: (425e6 * (first + second), NOTHING),
            },
            disk={"read": Flow(ops, 32 / ops)},
            array={"read": AtArray(0.00035, san=32 / ops - 0.00045 if held else 0.0002)},
        )
    return judged(san.write())


def test_two_half_full_links_that_are_used_in_turn_are_the_path_policy(tmp_path: Path) -> None:
    """51 % + 50 % of what is full at 98.4 %: 1.03 links' worth, the same with four times the I/Os in flight."""
    found = over_two(tmp_path, 0.51, 0.50)
    verdict = found.verdict
    (bottleneck,) = verdict.bottlenecks
    assert verdict.kind == "bottleneck"
    assert verdict.grade in ("A", "B")
    assert (bottleneck.kind, bottleneck.layer, bottleneck.entity) == ("path_policy", "host", "lun:sqlvm1/sda")
    assert bottleneck.coincident == HOST_LINKS
    assert bottleneck.ceiling_ops_per_second == pytest.approx(6461, rel=1e-3)
    assert "2 links of the host are busy 51.8 % and 50.8 %" in verdict.headline
    assert "The paths are used one after the other" in verdict.headline
    assert not set(HOST_LINKS) & {c.entity for c in found.cleared}


def test_two_full_links_are_links(tmp_path: Path) -> None:
    (bottleneck,) = over_two(tmp_path, 0.98, 0.98).verdict.bottlenecks
    assert (bottleneck.kind, {bottleneck.entity, *bottleneck.coincident}) == ("link", set(HOST_LINKS))


def test_two_links_at_a_third_are_neither(tmp_path: Path) -> None:
    """60 % of one link: whatever holds the test, it is no link's worth."""
    found = over_two(tmp_path, 0.30, 0.30)
    assert (found.verdict.kind, found.verdict.bottlenecks) == ("cannot_tell", ())
    assert set(HOST_LINKS) <= {c.entity for c in found.cleared}
    (cached,) = (each for each in found.verdict.experiments if each.action == "cached_range")
    (unseen,) = (meaning for meaning in cached.meanings if meaning.verdict == "cannot_tell")
    assert unseen.if_seen > 1.1 * unseen.probability, "what is not measured may be below the array's cache"


@pytest.mark.parametrize(("share", "possible"), [(0.9, False), (0.6, True)])
def test_a_policy_that_leaves_little_of_the_links_unused_does_not_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float, possible: bool
) -> None:
    """Many LUNs that change link at moments of their own nearly fill two: the links are what limits."""
    monkeypatch.setattr(path_policy, "in_turn_weight", lambda *_: 3.0)
    kinds = {suspect.kind for suspect in over_two(tmp_path, share, share).verdict.suspects}
    assert ("path_policy" in kinds) == possible


def test_a_path_that_is_full_itself_leaves_nothing_to_gain_from_the_policy(tmp_path: Path) -> None:
    """Both links carry the same bytes: 97 % of 4GFC and 6 % of 64GFC, together what one link carries."""
    san = San(tmp_path / "a.sanpath", ports=[HOST_PORT, fast(SECOND_HBA, 64), fast(ARRAY_PORT)])
    carried = 0.97 * 425e6
    ops = 2 * carried / (32 * 2076)
    for n in (64, 256):
        links = {HOST_PORT.name: (carried, NOTHING), SECOND_HBA.name: (carried, NOTHING)}
        san.step(
            f"q{n}",
            n,
            read=Flow(ops, n / ops),
            ports=links | {ARRAY_PORT.name: (2 * carried, NOTHING)},
            array={"read": AtArray(0.00035, san=n / ops - 0.0005)},
        )
    verdict = judged(san.write()).verdict
    assert [each.entity for each in verdict.bottlenecks] == ["link:esx7/vmhba2--sw1/fc1/7"]
    assert "path_policy" not in {suspect.kind for suspect in verdict.suspects}


def test_one_step_does_not_show_that_more_load_brings_nothing(tmp_path: Path) -> None:
    one, two = (over_two(tmp_path / str(n), 0.51, 0.50, n).verdict.probability for n in ((256,), (64, 256)))
    assert (one or 0) < (two or 0)


def test_a_second_link_that_is_only_probed_is_not_used_in_turn(tmp_path: Path) -> None:
    """10 % on the second one: a policy that changes path would share them evenly."""
    assert over_two(tmp_path, 0.91, 0.10).verdict.suspects[0].kind != "path_policy"


@pytest.mark.parametrize(("batch", "accused"), [(1000, True), (16, False), (1, False)])
def test_only_a_batch_longer_than_the_queue_leaves_paths_idle(tmp_path: Path, batch: int, accused: bool) -> None:
    """51 % and 50 % once more: with batches of 16 among 256 outstanding I/Os both paths always have some."""
    policy: Mapping[str, Scalar] = {"path_policy": "round_robin", "path_switch_operations": batch}
    found = over_two(tmp_path, 0.51, 0.50, lun=policy)
    suspects = {suspect.kind: suspect.probability for suspect in found.verdict.suspects}
    assert (suspects.get("path_policy", 0.0) > 0.5) == accused


def test_links_of_the_array_that_are_used_in_turn_are_the_path_policy_too(tmp_path: Path) -> None:
    """51 % and 50 % of 4GFC at the array, behind 16GFC at the host, in batches of 1,000."""
    ports = [fast(HOST_PORT), fast(SECOND_HBA), ARRAY_PORT, SECOND_TARGET]
    policy: Mapping[str, Scalar] = {"path_policy": "round_robin", "path_switch_operations": 1000}
    san = EsxSan(tmp_path, ports=ports, lun=policy, shares=(0.5, 0.5))
    ops = 425e6 * 1.01 / (32 * 2076)
    for n in (64, 256):
        halves = zip(ports, (0.505, 0.505, 0.51, 0.50), strict=True)
        counted = {port.name: (425e6 * share, NOTHING) for port, share in halves}
        at_array = AtArray(0.00035, san=32 / ops - 0.00045)
        san.step(
            f"q{n}",
            n,
            read=Flow(ops, n / ops),
            ports=counted,
            disk={"read": Flow(ops, 32 / ops)},
            array={"read": at_array},
        )
    verdict = judged(san.write()).verdict
    assert [bottleneck.kind for bottleneck in verdict.bottlenecks] == ["path_policy"]
    assert "2 links of the array are busy" in verdict.headline


def test_several_luns_use_several_links_at_once() -> None:
    """One LUN fills one of two links, two LUNs one and a half, three one and three quarters: each changes link at
    moments of its own."""
    carried = (1.0, 1.5, 1.75)
    for luns, most_likely in enumerate(carried, 1):
        weights = {total: in_turn_weight(total, luns, 2) for total in carried}
        assert max(weights, key=weights.__getitem__) == most_likely
    assert in_turn_weight(1.04, 3, 2) < -2
    assert in_turn_weight(1.04, 2, 2) > 0, "two may stay together"


@pytest.mark.parametrize("first_periods", [1, 2])
def test_ios_that_moved_to_another_path_once_do_not_use_paths_in_turn(tmp_path: Path, first_periods: int) -> None:
    """A path fails after a third or two thirds of the only step: one link was full until then, the other is since."""
    san = San(tmp_path, ports=[HOST_PORT, SECOND_HBA, fast(ARRAY_PORT)], one_step=True, guest_queue_depth=None)
    counted = 0.98 * 425e6
    ops = counted / (32 * 2076)
    for period in range(3):
        busy = ("fc1/7", "fc1/8") if period < first_periods else ("fc1/8", "fc1/7")
        flow = Flow(ops, 128 / ops)
        ports = {busy[0]: (counted, NOTHING), busy[1]: (0.0, 0.0), "fc1/1": (counted, NOTHING)}
        array = {"read": AtArray(0.00035, san=128 / ops - 0.00045)}
        san.step(f"p{period}", 128, read=flow, ports=ports, disk={"read": flow}, array=array)
    found = judged(san.write())
    assert "path_policy" not in {b.kind for b in found.verdict.bottlenecks}
    in_turn = [suspect.probability for suspect in found.verdict.suspects if suspect.kind == "path_policy"]
    assert sum(in_turn) < 0.5
