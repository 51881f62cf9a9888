"""Links between switches: full ones, and those that wait for a device that returns no credits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.compute import compute
from sanpath.model import Direction
from sanpath.verdict.hypotheses.slow_drain import claims
from sanpath.verdict.places.table import place_tables
from sanpath.views import terminal_report
from tests.support.recording import RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.stories import NOTHING, OTHER_HOST, SECOND_HBA, SECOND_TARGET, fast

FAR_ARRAY = replace(ARRAY_PORT, on="sw2")
ISL = "link:sw1/fc1/31--sw2/fc1/31"
NEIGHBOUR = "link:esx9/vmhba2--sw1/fc1/9"
# 64 KiB blocks are counted 32 x 2,076 bytes; a full 8GFC link reads 836.7 of 850 MB/s.
BLOCK = 32 * 2076.0


def result(
    tmp_path: Path,
    local: float,
    others: float,
    stalls: Mapping[str, float] | None = None,
    neighbour_speed: float = 16,
    transfer_share: float = 0.8,
    host_speed: float = 16,
) -> Diagnosis:
    """Reads of esx7 over sw1 and sw2 from an array at sw2, those of esx9 beside them; operations a second.

    `transfer_share`: part of the latency that the array books to the transfer."""
    neighbour = replace(fast(OTHER_HOST, neighbour_speed), capable=neighbour_speed)
    ports = [fast(HOST_PORT, host_speed), neighbour, fast(FAR_ARRAY)]
    san = San(tmp_path / "a.sanpath", ports=ports, inter_switch_link=True)
    for in_flight in (16, 128):
        san.step(
            f"t{in_flight}",
            in_flight,
            read=Flow(local, in_flight / local),
            seconds=30,
            ports={
                "fc1/7": (local * BLOCK, NOTHING),
                "fc1/9": (others * BLOCK, NOTHING),
                "sw1/fc1/31": ((local + others) * BLOCK, NOTHING),
                "sw2/fc1/31": ((local + others) * BLOCK, NOTHING),
                "fc1/1": ((local + others) * BLOCK, NOTHING),
            },
            array={"read": AtArray(0.0004, san=transfer_share * in_flight / local, others=others)},
            stalls=stalls,
        )
    return diagnose(san.write())


def test_a_link_between_switches_that_is_full_is_named(tmp_path: Path) -> None:
    """12,590 reads a second of both hosts are 836.4 MB/s counted on the 8GFC link; the others run at 16GFC."""
    found = result(tmp_path, local=6295, others=6295)
    (bottleneck,) = found.verdict.bottlenecks
    assert (bottleneck.entity, bottleneck.layer, bottleneck.kind) == (ISL, "fabric", "link")
    assert bottleneck.utilisation == pytest.approx(836.4 / 850, rel=1e-3)
    assert "something else uses this link, too" in " ".join(bottleneck.because)


def test_its_ceiling_is_what_the_neighbour_leaves(tmp_path: Path) -> None:
    (bottleneck,) = result(tmp_path, local=6295, others=6295).verdict.bottlenecks
    assert bottleneck.ceiling_ops_per_second == pytest.approx(6295, rel=0.03)


def test_one_more_link_gains_no_more_than_the_next_link_of_the_path_lets_through(tmp_path: Path) -> None:
    """The host's own 8GFC link is at 82 % with 10,500 reads a second: it is full at 12,795."""
    found = result(tmp_path, local=10500, others=2090, host_speed=8)
    assert found.verdict.bottlenecks[0].entity == ISL
    assert found.summary.gain is not None
    assert found.summary.gain.startswith("up to 12,795 IOPS with one more beside it; next limit: esx7 vmhba2")


def test_a_link_between_switches_that_has_room_is_cleared(tmp_path: Path) -> None:
    found = result(tmp_path, local=3000, others=100, transfer_share=0.02)
    assert ISL in [cleared.entity for cleared in found.cleared]
    assert found.verdict.kind != "bottleneck"


SLOW = {"sw2/fc1/31": 0.62, "sw1/fc1/9": 0.81}
"""esx9 takes its frames slowly: its port, and the link behind it, send nothing most of the time."""


def test_a_slow_neighbour_is_the_culprit_and_the_link_its_victim(tmp_path: Path) -> None:
    found = result(tmp_path, local=1500, others=700, stalls=SLOW)
    assert found.verdict.kind == "bottleneck"
    (bottleneck,) = found.verdict.bottlenecks
    assert bottleneck.entity == NEIGHBOUR
    assert bottleneck.culprit == "hba:esx9/vmhba2"
    assert bottleneck.victims == (ISL,)
    assert bottleneck.kind == "credit_stall"
    assert "hba:esx9/vmhba2 limits the test to" in found.verdict.headline


def test_a_host_that_is_slow_on_both_its_ports_is_no_victim_of_itself(tmp_path: Path) -> None:
    """Frames wait at the port of a device because of that device. Neither port gains by a higher speed."""
    ports = [replace(fast(port), capable=32) for port in (HOST_PORT, SECOND_HBA)]
    san = San(tmp_path / "a.sanpath", ports=[*ports, fast(ARRAY_PORT)])
    for in_flight in (16, 128):
        halves = {port.name: (1500 * BLOCK, NOTHING) for port in ports}
        san.step(
            f"t{in_flight}",
            in_flight,
            read=Flow(3000, in_flight / 3000),
            seconds=30,
            ports={**halves, ARRAY_PORT.name: (3000 * BLOCK, NOTHING)},
            array={"read": AtArray(0.0004, san=0.8 * in_flight / 3000)},
            stalls={f"sw1/{name}": 0.8 for name in halves},
        )
    found = diagnose(san.write())
    (bottleneck,) = found.verdict.bottlenecks
    assert (bottleneck.kind, bottleneck.victims) == ("credit_stall", ())
    assert set(bottleneck.elements) == {"link:esx7/vmhba2--sw1/fc1/7", "link:esx7/vmhba3--sw1/fc1/8"}
    speed = [f for f in found.findings if f.rule == "speed-held-by-one-end" and f.outcome == "hit"]
    assert {f.role for f in speed} == {"risk"}
    assert "as long" in (found.summary.consequence or "")
    assert "not on the path" not in terminal_report.render(found)


def test_an_array_that_is_slow_on_all_its_ports_is_one_culprit_and_not_acquitted(tmp_path: Path) -> None:
    """Writes wait for credit at both target ports: nobody limits a host's volumes because of that."""
    targets = [fast(ARRAY_PORT), fast(SECOND_TARGET)]
    san = San(tmp_path / "a.sanpath", ports=[fast(HOST_PORT), *targets])
    for in_flight in (16, 128):
        san.step(
            f"t{in_flight}",
            in_flight,
            write=Flow(3000, in_flight / 3000),
            seconds=30,
            ports={HOST_PORT.name: (NOTHING, 3000 * BLOCK)} | {p.name: (NOTHING, 1500 * BLOCK) for p in targets},
            array={"write": AtArray(0.0004, san=0.8 * in_flight / 3000)},
            stalls={f"sw1/{port.name}": 0.8 for port in targets},
        )
    found = diagnose(san.write())
    (bottleneck,) = found.verdict.bottlenecks
    assert (bottleneck.kind, bottleneck.layer, bottleneck.victims) == ("credit_stall", "array_front", ())
    assert len(bottleneck.elements) == 2
    assert "array is not the problem" not in (found.summary.acquittal or "")
    assert "throughput at the array" not in (found.summary.action or "")


def test_frames_for_a_full_port_do_not_wait_because_of_a_slow_port_of_the_same_array(tmp_path: Path) -> None:
    """CT1.FC0 at sw1 is slow. CT0.FC0 at sw2 is full of others' writes, and the link between the switches feeds only
    that port."""
    near = fast(SECOND_TARGET)
    san = San(
        tmp_path / "a.sanpath",
        ports=[fast(HOST_PORT), fast(OTHER_HOST, 32), fast(FAR_ARRAY), near],
        inter_switch_link=True,
        isl_speed=32,
    )
    full, own = 1680e6, 3000 * BLOCK
    for in_flight in (16, 128):
        written = {
            HOST_PORT.name: own,
            OTHER_HOST.name: full - own / 2,
            f"sw2/{FAR_ARRAY.name}": full,
            near.name: own / 2,
            "sw1/fc1/31": full,
            "sw2/fc1/31": full,
        }
        san.step(
            f"t{in_flight}",
            in_flight,
            write=Flow(3000, in_flight / 3000),
            seconds=30,
            ports={port: (NOTHING, rate) for port, rate in written.items()},
            array={"write": AtArray(0.0004, san=0.8 * in_flight / 3000)},
            stalls={"sw1/fc1/31": 0.5, f"sw1/{near.name}": 0.7},
        )
    facts = compute(san.write())
    (table,) = place_tables(facts, facts.loads_in("t128"))
    assert {claim.entity for claim in claims(table)} == {
        f"link:sw1/{near.name}--fa1/CT1.FC0",
        "link:sw2/fc1/1--fa1/CT0.FC0",
    }
    for claim in claims(table):
        assert claim.conclude is not None
        (bottleneck,) = claim.conclude([claim]).bottlenecks
        is_full = claim.entity == "link:sw2/fc1/1--fa1/CT0.FC0"
        assert bottleneck.victims == ((ISL,) if is_full else ())
        assert any("50.0 %" in words for words in bottleneck.because) == is_full


def test_a_slow_neighbour_that_costs_the_test_next_to_nothing_does_not_hold_it(tmp_path: Path) -> None:
    """A block of 64 KiB takes 79 us at 8GFC; with 128 in flight the array needs 85 us to transfer it, beside 400 us
    of its own."""
    found = result(tmp_path, local=1500, others=700, stalls=SLOW, transfer_share=0.001)
    assert NEIGHBOUR not in {bottleneck.entity for bottleneck in found.verdict.bottlenecks}
    assert any(f.rule == "congestion-victim" and f.outcome == "hit" for f in found.findings)


def slow_reader(folder: Path, waits: Sequence[float]) -> Diagnosis:
    """Only the array's answers to writes share the stalled direction with esx9, which reads over another target port:
    one behind 500 frames waits 8 ms at 132 MB/s. `waits`: seconds that a write waits, of each step."""
    second_target = replace(fast(SECOND_TARGET), on="sw2")
    ports = [fast(HOST_PORT), fast(OTHER_HOST), fast(FAR_ARRAY), second_target]
    san = San(folder, ports=ports, inter_switch_link=True)
    written, read = 1500 * BLOCK, 2000 * BLOCK
    for number, wait in enumerate(waits):
        san.step(
            f"t{number}",
            1500 * wait / 0.8,
            write=Flow(1500, wait / 0.8),
            seconds=30,
            ports={
                HOST_PORT.name: (NOTHING, written),
                OTHER_HOST.name: (read, NOTHING),
                "sw1/fc1/31": (read, written),
                "sw2/fc1/31": (read, written),
                FAR_ARRAY.name: (NOTHING, written),
                second_target.name: (read, NOTHING),
            },
            array={"write": AtArray(0.0004, san=wait), "read": AtArray(0.0004, ops=2000)},
            stalls=SLOW,
        )
    return diagnose(san.write())


def test_writes_wait_for_a_slow_reader_no_longer_than_switches_hold_its_frames(tmp_path: Path) -> None:
    """The writes wait 34 and 68 ms."""
    found = slow_reader(tmp_path / "a.sanpath", [0.8 * n / 1500 for n in (64, 128)])
    assert NEIGHBOUR not in {bottleneck.entity for bottleneck in found.verdict.bottlenecks}, found.verdict.headline


def test_a_millisecond_more_than_switches_hold_acquits_no_slow_reader(tmp_path: Path) -> None:
    """A write waits for two frames of the array, 16 ms. Switches may hold some frames more, not twice as many."""
    verdicts = [slow_reader(tmp_path / str(wait), [wait]).verdict for wait in (0.012, 0.0175, 0.034)]
    assert [verdict.kind for verdict in verdicts] == ["bottleneck", "bottleneck", "cannot_tell"]
    assert NEIGHBOUR in {bottleneck.entity for bottleneck in verdicts[1].bottlenecks}, verdicts[1].headline


def test_commands_of_reads_wait_before_the_clock_of_the_array(tmp_path: Path) -> None:
    """esx9 writes to a second port of the array, which returns few credits: its frames hold those of the link that
    the test's commands cross. The array, which times what follows a command, sees none of that wait."""
    slow_target = replace(fast(SECOND_TARGET), on="sw2")
    ports = [fast(HOST_PORT), fast(OTHER_HOST), fast(FAR_ARRAY), slow_target]
    san = San(tmp_path / "a.sanpath", ports=ports, inter_switch_link=True)
    written = 20 * BLOCK
    for in_flight in (4, 8):
        rate = 325 * in_flight
        read = rate * BLOCK
        san.step(
            f"t{in_flight}",
            in_flight,
            read=Flow(rate, 0.00308),
            seconds=30,
            ports={
                HOST_PORT.name: (read, NOTHING),
                OTHER_HOST.name: (NOTHING, written),
                "sw1/fc1/31": (read, written),
                "sw2/fc1/31": (read, written),
                FAR_ARRAY.name: (read, NOTHING),
                slow_target.name: (NOTHING, written),
            },
            array={"read": AtArray(0.0004, san=0.00002), "write": AtArray(0.0004, ops=20)},
            stalls={f"sw2/{slow_target.name}": 0.97, "sw1/fc1/31": 0.8},
        )
    verdict = diagnose(san.write()).verdict
    assert verdict.bottlenecks, verdict.headline
    assert verdict.bottlenecks[0].culprit == "array_port:fa1/CT1.FC0", verdict.headline


def over_two_fabrics(folder: Path, stalls: Mapping[str, float]) -> Diagnosis:
    """Half the reads cross sw1 and sw2 beside those of esx9, the other half sw3, where esx9 is not."""
    second_hba, second_target = replace(fast(SECOND_HBA), on="sw3"), replace(fast(SECOND_TARGET), on="sw3")
    ports = [fast(HOST_PORT), fast(OTHER_HOST), fast(FAR_ARRAY), second_hba, second_target]
    san = San(folder, ports=ports, inter_switch_link=True)
    for in_flight in (16, 128):
        half, together = (750 * BLOCK, NOTHING), (1450 * BLOCK, NOTHING)
        san.step(
            f"t{in_flight}",
            in_flight,
            read=Flow(1500, in_flight / 1500),
            seconds=30,
            ports={
                **dict.fromkeys((HOST_PORT.name, SECOND_HBA.name, SECOND_TARGET.name), half),
                OTHER_HOST.name: (700 * BLOCK, NOTHING),
                **dict.fromkeys(("sw1/fc1/31", "sw2/fc1/31", FAR_ARRAY.name), together),
            },
            array={"read": AtArray(0.0004, san=0.9 * in_flight / 1500, others=700)},
            stalls=stalls,
        )
    return diagnose(san.write())


def test_a_slow_neighbour_does_not_hold_reads_that_wait_where_it_is_not(tmp_path: Path) -> None:
    alone = over_two_fabrics(tmp_path / "a.sanpath", SLOW)
    assert [bottleneck.entity for bottleneck in alone.verdict.bottlenecks] == [NEIGHBOUR]
    elsewhere = over_two_fabrics(tmp_path / "b.sanpath", {**SLOW, f"sw3/{SECOND_HBA.name}": 0.6})
    assert NEIGHBOUR not in {bottleneck.entity for bottleneck in elsewhere.verdict.bottlenecks}


def test_a_slow_neighbour_that_costs_little_hides_no_full_generator(tmp_path: Path) -> None:
    """Each process of the load fills a core: twice as many do twice as much, and their I/Os take 25 ms, of which the
    fabric has 1 ms. The host is not read."""
    ports = [fast(HOST_PORT), fast(OTHER_HOST), fast(FAR_ARRAY)]
    san = San(tmp_path / "a.sanpath", ports=ports, inter_switch_link=True)
    for in_flight in (16, 32):
        ops = in_flight / 0.025
        own, together = (ops * BLOCK, NOTHING), ((ops + 700) * BLOCK, NOTHING)
        san.step(
            f"t{in_flight}",
            in_flight,
            read=Flow(ops, 0.025),
            seconds=30,
            cpu=1.0,
            ports={
                HOST_PORT.name: own,
                OTHER_HOST.name: (700 * BLOCK, NOTHING),
                **dict.fromkeys(("sw1/fc1/31", "sw2/fc1/31", FAR_ARRAY.name), together),
            },
            array={"read": AtArray(0.0009, san=0.001, others=700)},
            stalls=SLOW,
        )
    assert diagnose(san.write()).verdict.kind == "generator_limited"


def test_an_oversubscribed_neighbour_is_told_from_a_slow_one(tmp_path: Path) -> None:
    """esx9 has a 4GFC link that is full (6,297 reads a second); what is sent to it fills the buffers of sw1."""
    found = result(tmp_path, local=1500, others=6290, stalls={"sw2/fc1/31": 0.45}, neighbour_speed=4)
    (bottleneck,) = found.verdict.bottlenecks
    assert bottleneck.entity == NEIGHBOUR
    assert bottleneck.culprit == "hba:esx9/vmhba2"
    assert "is saturated" in bottleneck.because[0]


def test_a_host_under_test_that_returns_no_credits_is_its_own_culprit(tmp_path: Path) -> None:
    found = result(tmp_path, local=1500, others=0.1, stalls={"sw1/fc1/7": 0.7})
    (bottleneck,) = found.verdict.bottlenecks
    assert bottleneck.entity == "link:esx7/vmhba2--sw1/fc1/7"
    assert (bottleneck.culprit, bottleneck.layer, bottleneck.victims) == ("hba:esx7/vmhba2", "host", ())


def test_a_stalled_link_behind_which_nothing_waits_has_too_few_credits(tmp_path: Path) -> None:
    """Every port behind it is counted and sends at once: the frames wait for the length of the link itself."""
    found = result(tmp_path, local=1500, others=700, stalls={"sw2/fc1/31": 0.62})
    (bottleneck,) = found.verdict.bottlenecks
    assert (bottleneck.entity, bottleneck.kind, bottleneck.layer) == (ISL, "credit_stall", "fabric")
    assert (bottleneck.culprit, bottleneck.victims) == (None, ())
    assert found.summary.verdict == "Link sw1 fc1/31–sw2 fc1/31 has too few buffer credits"
    assert hits(found)["isl-credits-too-few"] == [ISL]


def test_a_link_that_waits_for_a_busy_one_behind_it_is_not_accused(tmp_path: Path) -> None:
    """4,000 reads a second fill 64 % of the 4GFC link to esx9: bursts of them may well take all the time that the
    link between the switches waits."""
    found = result(tmp_path, local=1500, others=4000, stalls={"sw2/fc1/31": 0.62}, neighbour_speed=4)
    assert ISL not in {bottleneck.entity for bottleneck in found.verdict.bottlenecks}


@pytest.mark.parametrize(("stall", "is_short"), [(0.6, False), (0.95, True)])
def test_a_link_waits_no_longer_than_what_is_behind_it_is_busy(tmp_path: Path, stall: float, is_short: bool) -> None:
    """The 4GFC link to esx9 is 64 % busy. Frames that wait longer wait for the credits of their own link."""
    found = result(tmp_path, local=1500, others=4000, stalls={"sw2/fc1/31": stall}, neighbour_speed=4)
    named = {(bottleneck.entity, bottleneck.kind) for bottleneck in found.verdict.bottlenecks}
    assert ((ISL, "credit_stall") in named) == is_short


def test_a_little_time_without_credit_on_a_busy_link_is_normal(tmp_path: Path) -> None:
    found = result(tmp_path, local=6295, others=6295, stalls={"sw2/fc1/31": 0.2, "sw1/fc1/9": 0.05})
    assert found.verdict.bottlenecks[0].entity == ISL
    assert found.verdict.bottlenecks[0].kind == "link"


def hits(found: Diagnosis) -> dict[str, list[str]]:
    by_rule: dict[str, list[str]] = {}
    for finding in found.findings:
        if finding.outcome == "hit":
            by_rule.setdefault(finding.rule, []).append(finding.entity)
    return by_rule


def test_the_rules_tell_the_culprit_from_its_victim(tmp_path: Path) -> None:
    found = result(tmp_path, local=1500, others=700, stalls=SLOW)
    assert (hits(found)["slow-drain-device"], hits(found)["congestion-victim"]) == ([NEIGHBOUR], [ISL])
    (culprit,) = [f for f in found.findings if f.rule == "slow-drain-device" and f.outcome == "hit"]
    assert culprit.role == "culprit"
    assert "hba:esx9/vmhba2 returns no credit for 81.0 % of the time" in culprit.summary
    assert "show interface fc1/9 counters" in [command for fix in culprit.fix for command in fix.commands]


def test_the_rules_tell_a_full_neighbour_from_a_slow_one(tmp_path: Path) -> None:
    found = result(tmp_path, local=1500, others=6290, stalls={"sw2/fc1/31": 0.45}, neighbour_speed=4)
    assert hits(found)["oversubscribed-reader"] == [NEIGHBOUR]
    assert "slow-drain-device" not in hits(found)


def test_a_slow_neighbour_that_the_test_does_not_wait_for_is_not_named(tmp_path: Path) -> None:
    found = result(tmp_path, local=1500, others=700, stalls={"sw1/fc1/9": 0.81})
    assert not {"slow-drain-device", "oversubscribed-reader", "congestion-victim"} & set(hits(found))


def test_a_slow_host_of_the_test_fills_the_queue_above_it(tmp_path: Path) -> None:
    """Its port sends nothing for 60 % of the time at 40 % utilisation. The guest lets 32 I/Os through, and they wait
    in the transfer."""
    ops = 0.4 * 425e6 / BLOCK
    san = San(tmp_path / "a.sanpath", ports=[HOST_PORT, fast(ARRAY_PORT)])
    for n in (64, 256):
        ports = {port.name: (ops * BLOCK, NOTHING) for port in san.ports}
        below = 32 / ops
        san.step(
            f"t{n}",
            n,
            read=Flow(ops, n / ops),
            disk={"read": Flow(ops, below)},
            ports=ports,
            array={"read": AtArray(0.0004, san=below - 0.0006)},
            stalls={"sw1/fc1/7": 0.6},
            seconds=30,
        )
    verdict = diagnose(san.write()).verdict
    (bottleneck,) = verdict.bottlenecks
    assert (bottleneck.kind, bottleneck.culprit) == ("credit_stall", "hba:esx7/vmhba2")


@dataclass(slots=True)
class UnknownInitiators(San):
    """No source reports the ports of the host: what the switch sees at its port belongs to nobody."""

    def _configuration(self, out: RecordingBuilder) -> None:
        San._configuration(replace(self, ports=[port for port in self.ports if not port.host]), out)


@pytest.mark.parametrize("direction", ["read", "write"])
@pytest.mark.parametrize("near", ["sw1", "sw2"])
def test_a_full_link_between_switches_is_named_where_only_the_array_is_known(
    tmp_path: Path, near: str, direction: Direction
) -> None:
    """Data towards the switch of the array are writes, whichever of the switches that is."""
    far = {"sw1": "sw2", "sw2": "sw1"}[near]
    ports = [replace(fast(HOST_PORT), on=far), replace(fast(ARRAY_PORT), on=near)]
    san = UnknownInitiators(tmp_path / "a.sanpath", ports=ports, inter_switch_link=True)
    ops = 12590.0
    moved = (ops * BLOCK, NOTHING) if direction == "read" else (NOTHING, ops * BLOCK)
    # sw1 counts the link as if it were at the host.
    over_link = moved if near == "sw2" else moved[::-1]
    counted = {"fc1/7": moved, "fc1/1": moved, "sw1/fc1/31": over_link, "sw2/fc1/31": over_link}
    for in_flight in (16, 128):
        flow = Flow(ops, in_flight / ops)
        array = {direction: AtArray(0.0004, san=0.8 * in_flight / ops)}
        read, write = (flow, None) if direction == "read" else (None, flow)
        san.step(f"t{in_flight}", in_flight, read=read, write=write, seconds=30, ports=counted, array=array)
    verdict = diagnose(san.write()).verdict
    assert [set(b.entity.removeprefix("link:").split("--")) for b in verdict.bottlenecks] == [
        {"sw1/fc1/31", "sw2/fc1/31"}
    ]
    assert verdict.bottlenecks[0].direction == direction
