"""A copy, a restore, a deployment: no load generator says anything, the host's block device does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis, Verdict
from sanpath.model import DIRECTIONS
from sanpath.plugin import Column, Table
from sanpath.recorder.importing.importer import ImportRequest, import_file
from sanpath.recording.reading.recording import Recording
from tests.support.recording import Number, RecordingBuilder
from tests.support.san import NAA, AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, X, judged

LUN = Table(
    "lun",
    tuple(
        Column(f"{what}_{d}_total", 64, 1e-3 if "seconds" in what else 1.0)
        for what in ("ops", "bytes", "latency_seconds")
        for d in DIRECTIONS
    ),
    plane="guest_block",
)


class Copy(San):
    """A copy on the host esx7: its multipath map dm-0 and the path sdb below it count the same reads."""

    def _load(self, out: RecordingBuilder, last: float) -> None:
        out.source("esx7", "linux_host", LUN)
        out.entity("esx7", "host", "esx7", ids={"name": ("esx7",)})
        for device in ("dm-0", "sdb"):
            naa = (NAA,) if device == "dm-0" else ()
            out.entity("esx7", "lun", device, f"esx7/{device}", {"device": (device,), "naa": naa})
            out.link("esx7", "attached_to", (("lun", device), ("host", "esx7")))
        out.link("esx7", "member_of", (("lun", "sdb"), ("lun", "dm-0")), "slaves")
        for second in range(int(last) + 1):
            out.poll("esx7", second)
            values: dict[str, Number] = dict(self._disk(second))
            values |= {f"bytes_{d}_total": 65536 * int(values[f"ops_{d}_total"] or 0) for d in DIRECTIONS}
            out.samples("esx7", LUN, second, {"dm-0": values, "sdb": values})


class InGuest(San):
    """The same copy in the guest sqlvm1, of which only the hypervisor tells: its virtual disk, which has a clock, and
    the LUN below it, of which the host gives no time of an I/O."""

    def _load(self, out: RecordingBuilder, last: float) -> None:
        untimed = replace(LUN, columns=LUN.columns[:4], plane="")
        out.source("vc", "vsphere", replace(LUN, kind="vdisk", plane="vscsi"), untimed)
        disk = ("vdisk", "sqlvm1/scsi0:0")
        out.entity("vc", *disk, ids={"name": ("sqlvm1/scsi0:0",)})
        out.link("vc", "attached_to", (disk, ("vm", "sqlvm1")))
        out.entity("vc", "lun", NAA, f"esx7/{NAA}", {"naa": (NAA,)})
        out.link("vc", "attached_to", (("lun", NAA), ("host", "esx7")))
        out.link("vc", "backed_by", (disk, ("lun", NAA)))
        for second in range(int(last) + 1):
            out.poll("vc", second)
            values: dict[str, Number] = dict(self._disk(second))
            values |= {f"bytes_{d}_total": 65536 * int(values[f"ops_{d}_total"] or 0) for d in DIRECTIONS}
            out.samples("vc", replace(LUN, kind="vdisk", plane="vscsi"), second, {disk[1]: values})
            out.samples("vc", untimed, second, {NAA: {c.metric: values[c.metric] for c in untimed.columns}})


@pytest.fixture(scope="module", params=[Copy, InGuest])
def copied(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Diagnosis:
    """20 s idle, 40 s of 64 KiB reads that fill the 4GFC link, 128 in flight; then idle for as long as a poll."""
    san: San = request.param(tmp_path_factory.mktemp("copy") / "copy.sanpath")
    reads = Flow(X, 128 / X)
    san.step("", 0, seconds=15)
    san.step(
        "copy",
        128,
        read=reads,
        seconds=40,
        ports={"fc1/7": (COUNTED, NOTHING), "fc1/1": (COUNTED, NOTHING)},
        disk={"read": reads},
        array={"read": AtArray(0.00035, san=0.0047)},
    )
    return diagnose(san.write())


def test_its_limit_is_found(copied: Diagnosis) -> None:
    verdict = copied.verdict
    assert verdict.kind == "bottleneck"
    assert verdict.bottlenecks[0].entity == "link:esx7/vmhba2--sw1/fc1/7"
    assert verdict.bottlenecks[0].layer == "fabric"


def test_only_its_busy_part_is_judged_and_each_read_is_counted_once(copied: Diagnosis) -> None:
    (step,) = copied.steps
    assert step.directions["read"].ops_per_second == pytest.approx(X, rel=0.01)
    assert step.directions["read"].latency_seconds.mean == pytest.approx(128 / X, rel=0.01)
    assert step.windows_used >= 30


def test_the_load_is_said_to_be_unobserved(copied: Diagnosis) -> None:
    assert "the load" in [missing.what for missing in copied.unobserved]
    (step,) = copied.steps
    assert step.in_flight.configured is None
    assert step.in_flight.measured == pytest.approx(128, rel=0.01)


class Killed(Copy):
    """fio was started on the host, reported nothing, and was killed."""

    def _load(self, out: RecordingBuilder, last: float) -> None:
        super()._load(out, last)
        out.event("fio", 5, "load-started", command="fio job.fio")
        out.event("fio", last, "load-ended", exit_code=137)


def test_the_background_of_a_host_is_not_the_test_of_a_generator_that_did_no_io(tmp_path: Path) -> None:
    san = Killed(tmp_path / "killed.sanpath")
    background = Flow(6, 0.0026)
    san.step("", 0, read=background, seconds=60, disk={"read": background})
    diagnosed = diagnose(san.write())
    assert diagnosed.verdict.kind == "cannot_tell"
    assert diagnosed.verdict.headline == "the load generator was started and reported no I/O: nothing can be judged"
    assert not diagnosed.verdict.bottlenecks


def test_a_generator_that_only_trimmed_is_not_told_to_have_done_nothing(tmp_path: Path) -> None:
    class Trimming(Killed):
        def _load(self, out: RecordingBuilder, last: float) -> None:
            super()._load(out, last)
            out.event("fio", 6, "data-warning", code="trims", text="d1 has trimmed 91 times; trims are not read")

    san = Trimming(tmp_path / "trims.sanpath")
    background = Flow(6, 0.0026)
    san.step("", 0, read=background, seconds=60, disk={"read": background})
    verdict = diagnose(san.write()).verdict
    assert verdict.headline == "the load only trimmed blocks, and trims are not read: nothing can be judged"


def test_ios_that_hang_are_the_test_of_a_generator_that_reports_none(tmp_path: Path) -> None:
    san = Killed(tmp_path / "hangs.sanpath")
    hanging = Flow(0.2, 25.0)
    san.step("", 0, seconds=5)
    san.step("", 5, read=hanging, seconds=60, disk={"read": hanging})
    (step,) = diagnose(san.write()).steps
    assert step.in_flight.measured == pytest.approx(5, rel=0.2)
    assert step.windows_used >= 50


def test_a_host_that_mostly_has_no_io_outstanding_asks_for_no_more(tmp_path: Path) -> None:
    san = Copy(tmp_path / "little.sanpath")
    little = Flow(40, 0.0026)
    san.step("", 0, read=little, seconds=60, disk={"read": little})
    assert diagnose(san.write()).verdict.kind == "demand_limited"


@pytest.mark.parametrize("seconds", [0.0037, 0.9])
def test_a_dozen_ios_are_no_load(tmp_path: Path, seconds: float) -> None:
    """Of so few neither a time nor a rate has a meaning, and nothing waits."""
    san = Copy(tmp_path / "hardly.sanpath")
    hardly = Flow(0.2, seconds)
    san.step("", 0, read=hardly, seconds=60, disk={"read": hardly})
    verdict = diagnose(san.write()).verdict
    assert verdict.kind == "cannot_tell"
    assert "too little to be a load" in verdict.headline


def test_an_idle_host_that_writes_a_log_for_an_hour_has_no_load(tmp_path: Path) -> None:
    san = Copy(tmp_path / "log.sanpath")
    log = Flow(0.4, 0.0005)
    san.step("", 0, read=log, seconds=900, disk={"read": log})
    assert "too little to be a load" in diagnose(san.write()).verdict.headline


def test_an_idle_host_is_no_load(tmp_path: Path) -> None:
    assert diagnose(Copy(tmp_path / "idle.sanpath").write()).verdict.kind == "cannot_tell"


def of_iostat(folder: Path, writes: float, wait_ms: float, busy_percent: float) -> Verdict:
    """The verdict on twenty seconds of a host of which only `iostat -xt 1` tells."""
    names = "r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util"
    lines = ["Linux 5.14.0 (db7) \t06/15/2026 \t_x86_64_\t(16 CPU)", ""]
    for second in range(20):
        done = writes + second % 3
        values = (0, 0, 0, done, 128 * done, wait_ms, done * wait_ms / 1000, busy_percent)
        lines += [f"06/15/2026 09:10:{second:02} PM", f"Device {names}"]
        lines += [f"sda {' '.join(f'{value:.2f}' for value in values)}", ""]
    (file := folder / "iostat.txt").write_text("\n".join(lines))
    import_file(ImportRequest(file, folder / "r.sanpath"))
    return judged(Recording(folder / "r.sanpath")).verdict


@pytest.mark.parametrize(("busy_percent", "kind"), [(99.0, "concurrency_limited"), (67.0, None)])
def test_a_load_that_pauses_leaves_its_device_idle(tmp_path: Path, busy_percent: float, kind: str | None) -> None:
    verdict = of_iostat(tmp_path, 5_800, 0.19, busy_percent)
    likelihoods = {suspect.verdict: suspect.probability for suspect in verdict.suspects}
    assert kind is None or verdict.kind == kind
    assert kind is not None or likelihoods["demand_limited"] > 0.02


@pytest.mark.parametrize(("writes", "wait_ms"), [(4_000, 960.0), (630_000, 1.2)])
def test_hundreds_of_ios_in_a_device_are_not_for_want_of_ios(tmp_path: Path, writes: float, wait_ms: float) -> None:
    first = of_iostat(tmp_path, writes, wait_ms, 100.0).suspects[0]
    assert (first.verdict, first.place) == ("cannot_tell", "sda or anything behind it")
    assert first.probability > 0.75
