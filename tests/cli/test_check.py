"""`sanpath check`: every source answers, or one line says which does not and what to do."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from sanpath.cli import app
from sanpath.cli.commands.check import as_text
from sanpath.cli.sessions.lab_process import serve_lab
from sanpath.errors import CollectorError, ConfigError, Failure, UsageError
from sanpath.plugin import (
    Check,
    Clock,
    Collector,
    Context,
    Cost,
    Item,
    Right,
    SourceConfig,
    SourceEntity,
    SourceLink,
    Spec,
)
from sanpath.recorder import check as checking
from sanpath.recorder.check import SourceCheck, check_source

HAVE_PROC = Path("/proc/diskstats").exists()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["check", *arguments])


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The configuration of a simulated SAN that is up, and whose array has its first sample, and so a clock."""
    with serve_lab("four-gigabit-switch", tmp_path_factory.mktemp("lab")) as san:
        for _ in range(20):
            diagnosis = json.loads(run("--config", str(san.config), "--format", "json").stdout)
            if any(source["clock_offset_seconds"] is not None for source in diagnosis["sources"]):
                break
            time.sleep(0.5)
        yield san.config


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A UDP port that nobody answers."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        yield silent.getsockname()[1]


def test_a_site_whose_sources_all_answer_ends_with_0(lab: Path) -> None:
    result = run("--config", str(lab), "--format", "json")
    assert result.exit_code == 0, result.output
    diagnosis = json.loads(result.stdout)
    assert diagnosis["schema"] == "sanpath.check/1"
    assert {source["collector"] for source in diagnosis["sources"]} == {"flasharray", "snmp_switch"}
    for source in diagnosis["sources"]:
        assert source["answers"]
        assert source["identity"]
        assert source["failure"] == ""
        for effort in (source["inventory"], source["poll"]):
            assert effort["requests"] > 0
            assert effort["bytes_in"] > 0
            assert effort["items"] > 0
    (array,) = (source for source in diagnosis["sources"] if source["collector"] == "flasharray")
    assert array["clock_offset_seconds"] is not None
    # It has this machine's clock; its newest sample is up to a second old.
    assert abs(array["clock_offset_seconds"]) <= array["clock_uncertainty_seconds"] < 1.5
    assert diagnosis["recording"]["folder"] == str(Path.cwd())
    assert diagnosis["recording"]["free_bytes"] > 0


def test_for_people_each_source_is_a_block_and_the_recording_has_a_place(lab: Path) -> None:
    result = run("--config", str(lab))
    assert result.exit_code == 0
    assert result.stdout.count(") answers\n") == 2
    assert "s from this machine's, ±" in result.stdout
    assert f"Recordings go to {Path.cwd()}, which has " in result.stdout
    heading, *rows, last = result.stdout.rpartition("\n\nsource ")[2].splitlines()
    assert heading.split() == ["collector", "answers", "clock", "a", "poll", "takes", "fits"]
    assert [row.split()[:3] for row in rows] == [["sw1", "snmp_switch", "yes"], ["fa1", "flasharray", "yes"], []]
    assert last == f"ready: sanpath run --config {lab} -- COMMAND"


def test_a_misspelt_port_in_the_topology_is_named(lab: Path) -> None:
    misspelt = lab.with_name("misspelt.yaml")
    config = yaml.safe_load(lab.read_text(encoding="utf-8"))
    config["topology"]["links"] += [
        "switch_port:sw1/fc1/77 cabled_to hba:esx7/vmhba2",
        "switch_port:elsewhere/fc1/77 cabled_to hba:esx7/vmhba3",
    ]
    misspelt.write_text(yaml.safe_dump(config), encoding="utf-8")
    assert "topology" not in run("--config", str(lab)).stderr
    (warning,) = run("--config", str(misspelt)).stderr.splitlines()
    assert warning.startswith("sanpath: topology: sw1 reports no switch_port:sw1/fc1/77; did you mean switch_port:")


def test_one_silent_source_ends_with_1_and_one_line_with_its_remedy(
    lab: Path, silent_port: int, tmp_path: Path
) -> None:
    document = yaml.safe_load(lab.read_text(encoding="utf-8"))
    for source in document["sources"]:
        for key in ("community", "api_token"):
            if key in source:
                source[key] = source[key].replace("file:", f"file:{lab.parent}/")
        if source["collector"] == "snmp_switch":
            source["port"] = silent_port
        if "ca_file" in source:
            source["ca_file"] = str(lab.parent / source["ca_file"])
    config = tmp_path / "sanpath.yaml"
    config.write_text(yaml.safe_dump(document), encoding="utf-8")
    result = run("--config", str(config))
    assert result.exit_code == 1, result.output
    line, last = (line for line in result.stdout.splitlines() if str(silent_port) in line)
    assert "login" in line
    assert "unreachable" in line
    assert "check its address" in line
    assert "(snmp_switch) DOES NOT ANSWER\n" in result.stdout
    assert "(flasharray) answers\n" in result.stdout
    assert last == result.stdout.splitlines()[-1]
    assert last.startswith("not ready; first, for sw1: ")
    assert line.endswith(last.removeprefix("not ready; first, for sw1: ")), "with its causes, a wrong community too"


@pytest.mark.skipif(not HAVE_PROC, reason="no /proc/diskstats here")
def test_a_source_that_runs_in_a_thread_is_checked_too(tmp_path: Path) -> None:
    config = tmp_path / "sanpath.yaml"
    config.write_text("sources: [{name: here, collector: linux_host}]\n", encoding="utf-8")
    diagnosis = json.loads(run("--config", str(config), "--format", "json").stdout)
    (source,) = diagnosis["sources"]
    assert source["answers"]
    assert "Linux" in source["identity"]
    # Its first poll also looks for the load's processes, and reads each that it finds.
    assert source["poll"]["requests"] >= 2


def test_a_configuration_without_sources_is_a_wrong_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run()
    assert isinstance(result.exception, UsageError)
    assert result.exception.exit_code == 2
    assert "sanpath init" in str(result.exception)


def test_a_mistake_in_the_configuration_is_a_wrong_use(tmp_path: Path) -> None:
    config = tmp_path / "sanpath.yaml"
    config.write_text("sources: [{name: sw1, collector: snmp_switch, hosts: 192.0.2.1}]\n", encoding="utf-8")
    result = run("--config", str(config))
    assert isinstance(result.exception, ConfigError)
    assert result.exception.exit_code == 2


class StillClock:
    def now_us(self) -> int:
        return 1_700_000_000_000_000


class LentClock:
    """A context that lends a clock and nothing else."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock


class Device(Collector[SourceConfig]):
    """Answers everything; the tests below change one answer each."""

    async def check(self, ctx: Context) -> Check:  # noqa: ARG002
        return Check("device", StillClock().now_us() + 2_500_000, ("ports: nobody knows",))

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:  # noqa: ARG002
        yield SourceEntity("switch", "device")

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:  # noqa: ARG002
        for item in ():
            yield item


SPEC = Spec("made_up", "A device", (), rights=(Right("a readonly user", "all of it", "all is unknown"),))


def checked(made: type[Collector[SourceConfig]], every_seconds: float = 10.0) -> SourceCheck:
    config = SourceConfig(name="dev", collector="made_up", every_seconds=every_seconds)
    context = lambda cost: LentClock(StillClock())  # type: ignore[return-value]  # noqa: ARG005, E731
    return asyncio.run(check_source(config, SPEC, made, context, StillClock()))


def test_the_clock_of_the_device_is_compared_with_ours() -> None:
    found = checked(Device)
    assert found.answers
    assert found.clock_offset_seconds == pytest.approx(2.5)
    assert found.unreadable == ("ports: nobody knows",)


def test_a_login_may_take_as_long_as_its_collector_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "OPEN_SECONDS", 0.1)

    class Slow(Device):
        open_seconds = 5.0

        async def open(self, ctx: Context) -> None:  # noqa: ARG002
            await asyncio.sleep(0.3)

    assert checked(Slow, every_seconds=0.1).answers


def test_credentials_that_are_refused_name_the_rights_that_are_needed() -> None:
    class Refusing(Device):
        async def open(self, ctx: Context) -> None:  # noqa: ARG002
            raise CollectorError(Failure.REFUSED, "login refused")

    found = checked(Refusing)
    assert (found.answers, found.stage, found.failure) == (False, "login", "refused")
    assert "a readonly user" in found.remedy


def test_a_device_that_has_logged_in_and_is_slow_gets_more_time_and_no_new_address() -> None:
    class Slow(Device):
        async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:  # noqa: ARG002
            raise CollectorError(Failure.UNREACHABLE, "192.0.2.1 gave no answer in 8 s")
            yield SourceEntity("switch", "never")

    found = checked(Slow)
    assert (found.stage, found.remedy) == ("inventory", "raise its every_seconds or timeout_seconds")


def test_a_poll_that_fails_keeps_what_was_learned_before() -> None:
    class Nonsense(Device):
        async def poll(self, ctx: Context) -> AsyncIterator[Item]:  # noqa: ARG002
            raise CollectorError(Failure.UNREADABLE, "not JSON", "<html>\n<body>")
            yield SourceEntity("switch", "never")

    found = checked(Nonsense)
    assert (found.stage, found.failure, found.message) == ("poll", "unreadable", "not JSON <html> <body>")
    assert found.identity == "device"
    assert found.inventory is not None
    assert found.inventory.items == 1


def test_a_defect_in_a_collector_is_said_and_not_a_traceback() -> None:
    class Broken(Device):
        async def check(self, ctx: Context) -> Check:  # noqa: ARG002
            raise KeyError("version")

    found = checked(Broken)
    assert (found.failure, found.message) == ("defect", "KeyError: 'version'")


def test_a_source_that_blocks_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "OPEN_SECONDS", 0.1)
    monkeypatch.setattr(checking, "CLOSE_SECONDS", 0.0)
    released = threading.Event()

    class Hanging(Device):
        runs_in = "thread"

        async def check(self, ctx: Context) -> Check:  # noqa: ARG002
            released.wait()
            return Check("too late")

    found = checked(Hanging, every_seconds=0.1)
    released.set()
    assert (found.stage, found.failure) == ("identity", "unreachable")
    assert "did not return within" in found.message


def test_a_poll_that_takes_too_long_is_told_with_the_interval_that_would_do() -> None:
    class Slow(Device):
        async def poll(self, ctx: Context) -> AsyncIterator[Item]:  # noqa: ARG002
            time.sleep(0.1)
            for item in ():
                yield item

    found = checked(Slow, every_seconds=0.1)
    assert found.answers
    assert not found.fits
    assert "DOES NOT FIT into 0.08 s of every 0.1 s: set every_seconds to 1 or more" in as_text([found])


def test_what_devices_say_reaches_the_terminal_without_control_characters() -> None:
    class Hostile(Device):
        async def check(self, ctx: Context) -> Check:  # noqa: ARG002
            return Check("sw1\x1b]0;title\x07 [red]", None)

    text = as_text([checked(Hostile)])
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[red]" in text


def test_costs_are_those_of_each_stage() -> None:
    class Asking(Device):
        async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:  # noqa: ARG002
            spent.requests, spent.bytes_in = spent.requests + 3, spent.bytes_in + 300
            yield SourceEntity("switch", "device")

    spent = Cost()

    def context(cost: Cost) -> Context:
        nonlocal spent
        spent = cost
        return LentClock(StillClock())  # type: ignore[return-value]

    config = SourceConfig(name="dev", collector="made_up")
    found = asyncio.run(check_source(config, SPEC, Asking, context, StillClock()))
    assert found.inventory is not None
    assert found.poll is not None
    assert (found.inventory.requests, found.inventory.bytes_in) == (3, 300)
    assert (found.poll.requests, found.poll.bytes_in) == (0, 0)
