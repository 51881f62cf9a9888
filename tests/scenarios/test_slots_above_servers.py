"""A full queue of the host above busy servers of the array: more slots bring no more than what these idle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis, Verdict
from sanpath.model import Column, Table
from sanpath.verdict.hypotheses import queues
from sanpath.verdict.places.finite_source import use_of_servers
from tests.support.recording import RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, San
from tests.support.stories import NOTHING, fast, judged

LUN, ARRAY = "lun:sqlvm1/sda", "array:fa1"
TABLE = Table("controller", (Column("media_busy_ratio"),))


def test_two_ios_and_one_server_are_worked_out_by_hand() -> None:
    """One I/O comes back as fast as it is served: the times with none, one and two there are as 1 to 2 to 2. One
    waits in 0.4 of the time, and the server is busy in 0.8."""
    assert use_of_servers(2, 1, 0.4) == pytest.approx(0.8, abs=1e-4)


@pytest.mark.parametrize("sources", [4, 13, 64, 1024])
@pytest.mark.parametrize("part", [0.05, 0.3, 0.9])
def test_servers_are_busy_for_longer_than_all_of_them_are(sources: int, part: float) -> None:
    """Those that wait over those that may are the least share of the time in which all are busy."""
    for servers in {1, sources // 2}:
        waiting = part * (sources - servers)
        use = use_of_servers(sources, servers, waiting)
        assert part - 1e-6 <= use <= 1
        assert use <= use_of_servers(sources, servers, 1.1 * waiting) + 1e-9, "more wait where they are busier"
        more = use_of_servers(sources, min(sources - 1, servers + 1), waiting)
        assert use <= more + 1e-9, "few of them idle for longer"


@pytest.mark.parametrize("servers", [1, 100, 2000])
@pytest.mark.parametrize("waiting", [0.1, 10, 1000])
def test_the_states_of_very_many_ios_need_not_be_computed(servers: int, waiting: float) -> None:
    """The servers are as busy as with an endless number of I/Os, and 2**33 of them need no more memory."""
    use = use_of_servers(4096, servers, waiting)
    assert use == use_of_servers(2**33, servers, waiting)
    assert use_of_servers(2**33, 2**32, waiting) == use_of_servers(4096, 2048, waiting)
    assert servers == 2000 or use == pytest.approx(part_of_endless_source(servers, waiting), abs=0.01)


def part_of_endless_source(servers: int, waiting: float) -> float:
    """Utilisation if I/Os arrive at a constant rate (M/M/k: the formula of Erlang C), found by trial."""
    for step in range(1, 10_000):
        use = step / 10_000
        blocked = 1.0
        for number in range(1, servers + 1):
            blocked = use * servers * blocked / (number + use * servers * blocked)
        wait = blocked / (1 - use * (1 - blocked))
        if wait * use / (1 - use) >= waiting:
            return use
    return 1.0


class Media(San):
    """Flash that reports how busy it is. `busy`: step → share of the time."""

    busy: Mapping[str, float] = {}

    def _configuration(self, out: RecordingBuilder) -> None:
        super()._configuration(out)
        if not self.busy:
            return
        out.source("stats", "prometheus", TABLE)
        out.entity("stats", "controller", "1")
        out.link("stats", "member_of", (("controller", "1"), ("array", "fa1")))
        for second in range(int(self.steps[-1].end)):
            now = [step.name for step in self.steps if step.begin <= second <= step.end]
            out.samples("stats", TABLE, second, {"1": {"media_busy_ratio": self.busy[now[0]] if now else 0.0}})


def diagnosis_of(
    folder: Path,
    slots: int,
    steps: Sequence[tuple[int, float, float, float | None]],
    busy: Mapping[str, float] | None = None,
    most: int | None = None,
) -> Diagnosis:
    """`steps`: I/Os in flight, I/Os a second, seconds of service and in the array's queue (None: told as one).
    `most`: I/Os at the device, None: as many as it has slots. 70 µs pass between the clocks."""
    san = Media(folder, ports=[fast(HOST_PORT, 32), fast(ARRAY_PORT, 32)], guest_queue_depth=slots)
    san.array_media, san.busy = "flash", busy or {}
    for n, ops, service, queue in steps:
        counted = (ops * (4 * 2076 + 52), NOTHING)
        san.step(
            f"q{n}",
            n,
            block=8 * KIB,
            read=Flow(ops, n / ops),
            disk={"read": Flow(ops, min(n, most or slots) / ops)},
            ports={port.name: counted for port in san.ports},
            array={"read": AtArray(service, queue=queue, san=5e-5)},
        )
    return judged(san.write())


def verdict_of(
    folder: Path,
    slots: int,
    steps: Sequence[tuple[int, float, float, float | None]],
    busy: Mapping[str, float] | None = None,
    most: int | None = None,
) -> Verdict:
    return diagnosis_of(folder, slots, steps, busy, most).verdict


def probability(verdict: Verdict, entity: str) -> float:
    return sum(suspect.probability for suspect in verdict.suspects if suspect.entity == entity)


@pytest.mark.parametrize(("slots", "limit"), [(8, LUN), (13, ARRAY)])
def test_slots_are_the_limit_as_far_as_the_servers_below_them_idle(tmp_path: Path, slots: int, limit: str) -> None:
    """Ten media serve an I/O in 1.6 ms: 6,250 a second at most. Eight slots leave two of them idle. With 13 all are
    busy: 0.4 I/Os are between the clocks, 10 in service, and 2.6 wait. Eight were served at once, so that there are
    as many servers at least."""
    most = 10 / 0.0016
    full = (32, 8 / 0.00167, 0.0016, 0.0) if slots == 8 else (32, most, 0.0016, 13 / most - 0.00167)
    light = [(n, n / 0.00167, 0.0016, 0.0) for n in (2, 8)]
    verdict = verdict_of(tmp_path, slots, [*light, full])
    assert verdict.suspects[0].entity == limit
    assert [bottleneck.entity for bottleneck in verdict.bottlenecks] == [limit]


def test_free_slots_cost_nothing_and_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """48 I/Os are outstanding, 32 of them at the device: whether it has 64 slots, 65,536 or 2**33, at most 48 go
    round."""
    numbers: list[int] = []

    def counted(sources: int, servers: int, waiting: float) -> float:
        numbers.append(sources)
        return use_of_servers(sources, servers, waiting)

    monkeypatch.setattr(queues, "use_of_servers", counted)
    steps = [(n, 20_000.0, 3e-4, 5e-4) for n in (20, 32, 48)]
    verdicts = [verdict_of(tmp_path / str(slots), slots, steps, most=32) for slots in (64, 65_536, 2**33)]
    assert numbers
    assert max(numbers) <= 49
    assert len({(each.kind, each.grade, *(b.entity for b in each.bottlenecks)) for each in verdicts}) == 1


@pytest.mark.parametrize(
    ("at_few", "limit"), [(0.55, ARRAY), (0.97, LUN)], ids=["in proportion", "busy with a few already"]
)
def test_flash_whose_use_is_in_proportion_to_its_ios_is_full_where_it_is_always_busy(
    tmp_path: Path, at_few: float, limit: str
) -> None:
    """Eight slots are full. What is merely never idle may serve more I/Os at once."""
    steps = [(4, 4100.0, 0.0009, None), (16, 7450.0, 0.001, None), (64, 7450.0, 0.001, None)]
    verdict = verdict_of(tmp_path, 8, steps, {"q4": at_few, "q16": 0.993, "q64": 0.993})
    assert verdict.suspects[0].entity == limit
    assert probability(verdict, limit) > 0.7


@pytest.mark.parametrize("slots", [4, 32])
@pytest.mark.parametrize("queue", [None, 0.0], ids=["queue not told", "no queue"])
def test_a_queue_that_is_just_full_limits_as_with_more_ios(tmp_path: Path, slots: int, queue: float | None) -> None:
    """With as many I/Os as slots none waits for one. More of them bring nothing, and wait above the same slots: that
    shows nothing of the array."""
    steps = [(n, min(n, slots) / 0.00107, 0.001, queue) for n in (slots // 2, slots, 2 * slots, 8 * slots)]
    verdicts = {step.name: step.verdict for step in diagnosis_of(tmp_path, slots, steps).steps}
    assert verdicts[f"q{slots // 2}"].kind == "concurrency_limited"
    for n in (slots, 2 * slots, 8 * slots):
        assert [bottleneck.entity for bottleneck in verdicts[f"q{n}"].bottlenecks] == [LUN]


def test_a_queue_that_is_just_full_is_no_surer_than_with_ios_that_wait_for_it(tmp_path: Path) -> None:
    """Four I/Os have four slots wherever they wait below; eight show that the queue holds four back."""
    steps = [(n, 4 / 0.00107, 0.001, None) for n in (4, 8)]
    just_full, waiting = (step.verdict.grade for step in diagnosis_of(tmp_path, 4, steps).steps)
    assert just_full >= waiting
