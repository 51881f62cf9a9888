"""Links that others use as well: what the test cannot be shown to cross is not named, what others fill says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis, ElementUse
from tests.support.esx_san import EsxSan
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, Port, San
from tests.support.stories import COUNTED, NOTHING, OTHER_HOST, SECOND_HBA, SECOND_TARGET, X, fast, judged

FULL_16 = 1660e6
"""Counted by a full 16GFC link, 97.6 % of 1,700 MB/s; the test's own 415.2 are 24.4 %."""
FULL_4 = 66484 / 67540
"""What a full link reads with blocks of 64 KiB."""
HOST_LINK, ARRAY_LINK = "link:esx7/vmhba2--sw1/fc1/7", "link:sw1/fc1/1--fa1/CT0.FC0"
SECOND_HOST_LINK, SECOND_ARRAY_LINK = "link:esx7/vmhba3--sw1/fc1/8", "link:sw1/fc1/2--fa1/CT1.FC0"
LOCAL = f"{HOST_PORT.wwpn}>{ARRAY_PORT.device}"


def alongside(folder: Path, others: str, pairs: dict[str, float] | None = None, in_flight: int = 16) -> Diagnosis:
    """The test goes over vmhba2 and CT0, 24.4 % each. CT1 is full with what `others` sends, the second port of the
    test's own host or another host's."""
    neighbour = {"esx7": SECOND_HBA, "esx9": OTHER_HOST}[others]
    san = San(folder, ports=[fast(p) for p in (HOST_PORT, ARRAY_PORT, SECOND_TARGET, neighbour)])
    san.step(
        "t",
        in_flight,
        read=Flow(X, in_flight / X),
        ports={
            HOST_PORT.name: (COUNTED, NOTHING),
            ARRAY_PORT.name: (COUNTED, NOTHING),
            SECOND_TARGET.name: (FULL_16, NOTHING),
            neighbour.name: (FULL_16, NOTHING),
        },
        array={"read": AtArray(0.0023, others=4 * X)},
        pairs=pairs,
    )
    return judged(san.write())


def with_other_port(folder: Path, lists_paths: bool) -> Diagnosis:
    """The test's ports carry 24.4 %, and four times the outstanding I/Os bring no more. Another target port of the
    same array, which nobody reads, is full with what another host reads. `lists_paths`: the host reports its paths,
    to the test's two target ports."""
    other = Port("fc1/3", "CT2.FC0", "524a937000000003", 16, 16, host="")
    ports = [fast(p) for p in (HOST_PORT, ARRAY_PORT, SECOND_HBA, SECOND_TARGET, OTHER_HOST)] + [other]
    san = (EsxSan if lists_paths else San)(folder, ports=ports, leave_out={"array_samples"})
    for n in (16, 64):
        carried = {port.name: (COUNTED / 2, NOTHING) for port in ports[:4]}
        full = {port.name: (FULL_16, NOTHING) for port in (OTHER_HOST, other)}
        san.step(f"q{n}", n, read=Flow(X, n / X), ports={**carried, **full})
    return judged(san.write())


def test_a_full_target_port_to_which_the_host_has_no_path_does_not_limit_it(tmp_path: Path) -> None:
    """Multipathing says where an initiator sends. What another port of the array carries is others'."""
    found = with_other_port(tmp_path, lists_paths=True)
    assert not any("CT2.FC0" in entity or "524a937000000003" in entity for entity in named(found))
    assert not any("sw1/fc1/3" in (suspect.entity or "") for suspect in found.verdict.suspects)


def use(found: Diagnosis, entity: str) -> ElementUse:
    last = found.steps[-1].name
    (row,) = [e for e in found.elements if (e.entity, e.direction, e.step) == (entity, "read", last)]
    return row


def named(found: Diagnosis) -> set[str]:
    """Every element that the report calls the limit or the cause."""
    limits = {e for b in found.verdict.bottlenecks for e in (b.entity, *b.coincident)}
    return limits | {f.entity for f in found.findings if f.outcome == "hit" and f.role == "cause"}


def test_a_target_port_that_a_neighbour_fills_is_not_named_when_nobody_counts_who_uses_it(tmp_path: Path) -> None:
    """415.2 and 1,660 MB/s at the array for a test of 415.2: either port may have carried all of it."""
    found = alongside(tmp_path, "esx9")
    assert SECOND_ARRAY_LINK not in named(found)
    for link in (ARRAY_LINK, SECOND_ARRAY_LINK):
        assert (use(found, link).on_loaded_path, use(found, link).share) == (None, None)
    assert (use(found, HOST_LINK).on_loaded_path, use(found, HOST_LINK).share) == (True, 1.0)
    assert found.verdict.kind == "cannot_tell"
    because = " ".join(found.steps[0].verdict.because)
    assert "which links at the array carry the test (other hosts use them too)" in because
    assert not any(c.entity == SECOND_ARRAY_LINK for c in found.cleared)


def test_where_the_array_counts_its_initiators_the_neighbour_s_port_is_off_the_path(tmp_path: Path) -> None:
    """All of the test by CT0: nothing is full, and 16 in flight / 6,250 IOPS are 2.56 ms."""
    pairs = {LOCAL: X, f"{OTHER_HOST.wwpn}>{SECOND_TARGET.device}": 4 * X}
    found = alongside(tmp_path, "esx9", pairs)
    assert (use(found, ARRAY_LINK).on_loaded_path, use(found, ARRAY_LINK).share) == (True, 1.0)
    assert use(found, SECOND_ARRAY_LINK).on_loaded_path is False
    assert not found.verdict.bottlenecks
    assert found.verdict.suspects[0].verdict == "concurrency_limited"
    assert SECOND_ARRAY_LINK not in named(found)


def test_a_port_of_the_own_host_that_another_machine_on_it_fills_is_not_named(tmp_path: Path) -> None:
    """415.2 by vmhba2, 1,660 by vmhba3: the test of 415.2 may have left by either."""
    found = alongside(tmp_path, "esx7")
    assert not {SECOND_HOST_LINK, SECOND_ARRAY_LINK} & named(found)
    for link in (HOST_LINK, SECOND_HOST_LINK):
        assert (use(found, link).on_loaded_path, use(found, link).share) == (None, None)
    assert found.verdict.kind == "cannot_tell"
    because = " ".join(found.steps[0].verdict.because)
    assert "which links at the host carry the test (other hosts use them too)" in because


def test_the_array_s_count_of_a_host_is_not_the_test_s_where_others_run_on_that_host(tmp_path: Path) -> None:
    """The array counts initiators, not machines: four fifths of this host's I/Os by CT1 need not be the test's."""
    pairs = {LOCAL: X, f"{SECOND_HBA.wwpn}>{SECOND_TARGET.device}": 4 * X}
    found = alongside(tmp_path, "esx7", pairs)
    assert SECOND_ARRAY_LINK not in named(found)
    assert use(found, SECOND_ARRAY_LINK).on_loaded_path is None
    assert found.verdict.kind == "cannot_tell"


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Diagnosis:
    """A 4GFC target port, 415.2 MB/s, of which 41.5 are the test's: 625 IOPS, 16 and 64 in flight, 102 ms."""
    ports = [fast(HOST_PORT), ARRAY_PORT, fast(OTHER_HOST)]
    san = San(tmp_path_factory.mktemp("crowded"), ports=ports)
    for n in (16, 64):
        san.step(
            f"q{n}",
            n,
            read=Flow(X / 10, n * 10 / X),
            ports={
                HOST_PORT.name: (COUNTED / 10, NOTHING),
                OTHER_HOST.name: (0.9 * COUNTED, NOTHING),
                ARRAY_PORT.name: (COUNTED, NOTHING),
            },
            array={"read": AtArray(0.0004, san=0.02, others=0.9 * X)},
        )
    return judged(san.write())


def test_a_link_that_others_fill_is_named_and_not_called_the_test_s_own_queue(crowded: Diagnosis) -> None:
    """Of 415.2 MB/s counted 373.7 are the neighbour's, less 2 % of the test's 41.5 that may be status frames:
    372.8 / 415.2 = 89.8 %."""
    verdict = crowded.verdict
    (bottleneck,) = verdict.bottlenecks
    assert (bottleneck.entity, verdict.kind) == (ARRAY_LINK, "bottleneck")
    assert verdict.grade == "A"
    assert "89.8 % of its bytes are not the test's: other I/O fills it" in verdict.headline
    assert "the load's own queue" not in verdict.headline
    assert not any("another host on this link: none" in line for line in bottleneck.overturn_if)
    assert use(crowded, HOST_LINK).foreign_bytes_per_second == pytest.approx(0, abs=1)


def test_at_twice_the_speed_the_neighbour_keeps_its_bytes(crowded: Diagnosis) -> None:
    """A full 4GFC link counts 418.4 MB/s, less 372.8 leaves 45.5; at 8GFC 836.7 - 372.8 = 463.9, 10.2 times as much
    and not twice. 625 IOPS are 41.5 MB/s in frames, or with 2 % of tolerance 42.4: so 463.9 are up to 6,979."""
    following = crowded.verdict.next
    assert following is not None
    foreign = COUNTED - 1.02 * COUNTED / 10
    highest = 625 * (850e6 * FULL_4 - foreign) / (COUNTED / 10)
    assert highest == pytest.approx(6979, rel=1e-3)
    assert (following.entity, following.change) == (ARRAY_LINK, "at 8GFC")
    assert following.predicted_ops_per_second == pytest.approx((625, highest), rel=1e-3)


def test_half_of_the_bytes_are_not_most_of_them(tmp_path: Path) -> None:
    """40 % others': the test's own queue is still what waits, and the neighbour is told."""
    san = San(tmp_path, ports=[HOST_PORT, replace(ARRAY_PORT), OTHER_HOST])
    for n in (16, 64):
        san.step(
            f"q{n}",
            n,
            read=Flow(0.6 * X, n / 0.6 / X),
            ports={"fc1/7": (0.6 * COUNTED, NOTHING), "fc1/9": (0.4 * COUNTED, NOTHING), "fc1/1": (COUNTED, NOTHING)},
            array={"read": AtArray(0.0004, san=0.003, others=0.4 * X)},
        )
    verdict = judged(san.write()).verdict
    assert "other I/O fills it" not in verdict.headline
    assert "the load's own queue" in verdict.headline
    assert any("is not the test's" in line for line in verdict.bottlenecks[0].because)


@pytest.mark.parametrize(("others", "first"), [(0.7, ARRAY_LINK), (0.0, SECOND_HOST_LINK)])
def test_of_full_links_one_that_is_in_a_row_with_another_comes_last(
    tmp_path: Path, others: float, first: str
) -> None:
    """The test's second link and its target port are full one behind the other: either alone brings nothing. Another
    host fills the other target port, which alone is in the way there, or nobody does."""
    targets = (ARRAY_PORT, SECOND_TARGET, ARRAY_PORT)
    ports = [HOST_PORT, SECOND_HBA, OTHER_HOST, ARRAY_PORT, SECOND_TARGET]
    zones = [(hba.wwpn, target.wwpn) for hba, target in zip(ports[:3], targets, strict=True)]
    san = San(tmp_path, ports=ports, zones=zones)
    for n in (16, 64):
        moved = zip(ports, (0.3, 1.0, others, 0.3 + others, 1.0), strict=True)
        counted = {port.name: (share * COUNTED, NOTHING) for port, share in moved}
        array = {"read": AtArray(0.0004, san=n / 1.3 / X - 0.0005, others=others * X)}
        san.step(f"q{n}", n, read=Flow(1.3 * X, n / 1.3 / X), ports=counted, array=array)
    (bottleneck,) = judged(san.write()).verdict.bottlenecks
    assert bottleneck.entity == first
    assert SECOND_ARRAY_LINK in bottleneck.coincident
