"""Steps from counters, the command that fio is started with, and output that no fio would write."""

from __future__ import annotations

import json
from math import ceil
from pathlib import Path
from random import Random

import pytest

from sanpath.errors import UsageError
from sanpath.plugin import Event, Item, Rows, SourceEntity
from sanpath.recording.writing.writer import Writer
from sanpath_collectors.fio.load_reader import FioLoad
from tests.collectors.fio.printed import HOSTILE, SECOND, START, Reported, direction, document, job, places, replaced


def read(documents: dict[float, bytes], end: float) -> list[Item]:
    reader = FioLoad()
    items: list[Item] = []
    for at, output in documents.items():
        items += reader.feed(output, START + round(at * SECOND))
    items += reader.finish(START + round(end * SECOND))
    return items


def steps(items: list[Item]) -> list[tuple[str, str, float]]:
    return [(i.name, str(i.detail["step"]), (i.seen - START) / SECOND) for i in items if isinstance(i, Event)]


def test_a_stonewall_ends_one_step_when_it_was_idle_and_begins_the_next() -> None:
    # The first group ends at 2.4 s: at 3 s its run time has grown by 0.4 s only.
    items = read(
        {
            1: document(1, job("a", 0, 100, 1000), job("b", 1, 0)),
            2: document(2, job("a", 0, 200, 2000), job("b", 1, 0)),
            3: document(3, job("a", 0, 240, 2400), job("b", 1, 0)),
            4: document(4, job("a", 0, 240, 2400), job("b", 1, 70, 700)),
            5: document(5, job("a", 0, 240, 2400), job("b", 1, 170, 1700)),
        },
        end=5.2,
    )
    assert steps(items) == [
        ("step-begin", "a", 1.0),
        ("step-end", "a", 2.4),
        ("step-begin", "b", 4.0),
        ("step-end", "b", 5.0),
    ]


def test_jobs_of_a_group_that_has_not_begun_give_no_samples() -> None:
    items = read({1: document(1, job("a", 0, 100, 1000), job("b", 1, 0))}, end=2)
    assert [row.entity for row in items if isinstance(row, Rows)] == [["fio/a"]]


def test_what_is_offered_is_the_sum_over_the_jobs_of_the_group() -> None:
    items = read(
        {
            1: document(
                1,
                job("a", 0, 10, 1000, ioengine="libaio", iodepth="8", numjobs="2"),
                job("b", 0, 10, 1000, ioengine="psync", iodepth="8", numjobs="4", bs="64k"),
            )
        },
        end=2,
    )
    begin = next(item for item in items if isinstance(item, Event))
    assert begin.detail["offered"] == 8 * 2 + 1 * 4
    assert begin.detail["block_bytes"] is None
    assert begin.detail["loads"] == "fio/a,fio/b"


def test_a_group_that_stands_for_different_jobs_says_that_its_concurrency_is_not_known() -> None:
    # Two processes have run for a second each, and the options tell of one.
    mixed = job("a", 0, 10, 1000, iodepth="8", ioengine="libaio", bs="64k") | {"job_runtime": 2000}
    items = read(
        {1: document(1, mixed), 2: document(2, mixed | {"read": direction(20, 2000), "job_runtime": 4000})}, end=3
    )
    events = [item for item in items if isinstance(item, Event)]
    assert [e.detail["code"] for e in events if e.name == "data-warning"] == ["mixed-jobs"]
    begin = next(event for event in events if event.name == "step-begin")
    assert (begin.detail["offered"], begin.detail["block_bytes"]) == (None, None)
    node = next(item for item in items if isinstance(item, SourceEntity) and item.local_id == "fio/a")
    assert "in_flight_configured" not in node.attributes
    assert all(
        value is None for row in items if isinstance(row, Rows) for value in row.values["in_flight_configured"]
    )


def test_a_group_of_processes_of_one_job_is_not_taken_for_different_jobs() -> None:
    grouped = job("a", 0, 10, 1000, iodepth="8", ioengine="libaio", numjobs="3") | {"job_runtime": 2990}
    items = read({1: document(1, grouped)}, end=2)
    begin = next(item for item in items if isinstance(item, Event) and item.name == "step-begin")
    assert begin.detail["offered"] == 24


def test_live_and_import_tell_the_same_of_a_job() -> None:
    options = {"iodepth": "8", "ioengine": "libaio", "rw": "randrw", "size": "1g", "direct": "1", "runtime": "60"}
    output = document(1, job("a", 0, 100, 1000, **options))
    live = next(i for i in read({1: output}, end=2) if isinstance(i, SourceEntity) and i.local_id == "fio/a")
    assert live.attributes == Reported.of_report(output).entities["f/a"]
    assert (
        live.attributes.items()
        >= {"engine": "fio", "engine_version": "3.33", "direct": True, "seconds": 60.0}.items()
    )


def test_options_of_the_job_go_before_those_of_the_file() -> None:
    keys = {"global options": {"iodepth": "4", "ioengine": "libaio", "bs": "8k", "rw": "read"}}
    items = read({1: document(1, job("a", 0, 10, 1000, iodepth="32"), **keys)}, end=2)
    node = next(item for item in items if isinstance(item, SourceEntity) and item.local_id == "fio/a")
    assert {name: node.attributes[name] for name in ("block_bytes", "in_flight_configured", "ioengine", "rw")} == {
        "block_bytes": 8192.0,
        "in_flight_configured": 32,
        "ioengine": "libaio",
        "rw": "read",
    }


@pytest.mark.parametrize(
    ("options", "limited"), [({"rate_iops": "100"}, True), ({"thinktime": "5"}, True), ({}, False)]
)
def test_a_load_that_is_told_to_hold_back_says_so(options: dict[str, str], limited: bool) -> None:
    items = read({1: document(1, job("a", 0, 10, 1000, **options))}, end=2)
    assert next(item for item in items if isinstance(item, Event)).detail["rate_limited"] is limited


def test_a_ramp_ends_at_an_even_pace_too() -> None:
    """100 I/Os in the second of the ramp, 100 in the second after it: fio counts from nothing again."""
    of_the_ramp = job("a", 0, 100, 1000) | {"read": direction(100, 1000, ramp=True)}
    keys = {"global options": {"ramp_time": "1", "rate_iops": "100"}}
    counted = [of_the_ramp, *(job("a", 0, 100 * second, 1000 * second) for second in (1, 2, 3))]
    items = read({at: document(at, result, **keys) for at, result in enumerate(counted, 1)}, end=5)
    assert steps(items) == [("step-begin", "a", 1.0), ("ramp-end", "a", 1.0), ("step-end", "a", 4.0)]


@pytest.mark.parametrize(
    ("given", "started"),
    [
        (["job.fio"], ["job.fio", "--output-format=json", "--status-interval=1"]),
        (
            ["--output-format=normal", "job.fio"],
            ["--output-format=normal", "job.fio", "--output-format=normal,json", "--status-interval=1"],
        ),
        (["--output-format=terse", "job.fio"], None),
        (["--output-format", "json+", "job.fio"], ["--output-format", "json+", "job.fio", "--status-interval=1"]),
        (
            ["--output-format=json,normal", "job.fio"],
            ["--output-format=json,normal", "job.fio", "--status-interval=1"],
        ),
        (["-output-format=json", "job.fio"], ["-output-format=json", "job.fio", "--status-interval=1"]),
        (["--status-interval=5", "job.fio"], ["--status-interval=5", "job.fio", "--output-format=json"]),
        (["--minimal", "job.fio"], ["--minimal", "job.fio", "--output-format=terse,json", "--status-interval=1"]),
    ],
    ids=lambda words: " ".join(words) if words else "",
)
def test_the_user_gets_what_was_asked_for_beside_what_is_needed(given: list[str], started: list[str] | None) -> None:
    command = FioLoad.wrap(["fio", *given])
    if started is None:
        started = [*given, "--output-format=terse,json", "--status-interval=1"]
    assert list(command.argv) == ["fio", *started]
    assert command.output_file is None


@pytest.mark.parametrize("option", [["--output=F"], ["--output", "F"], ["--output=G", "--output=F"]])
def test_the_file_that_fio_writes_to_is_followed(option: list[str]) -> None:
    assert FioLoad.wrap(["fio", "job.fio", *option]).output_file == "F"


def test_a_file_name_is_no_option() -> None:
    assert FioLoad.wrap(["fio", "output=x.fio"]).output_file is None
    assert "--output-format=json" in FioLoad.wrap(["fio", "output-format=json"]).argv


@pytest.mark.parametrize("option", ["--client=h1", "--client", "-client=h1"])
def test_fio_client_is_refused_in_one_line(option: str) -> None:
    with pytest.raises(UsageError, match=r"^fio --client [^\n]+start fio on the host that does the I/O$"):
        FioLoad.wrap(["fio", option, "h1", "job.fio"])


WHOLE = json.loads(
    document(
        1,
        job("a", 0, 10, 1000, iodepth="4", numjobs="2", bs="4k", ioengine="libaio", uri="nbd://h:1"),
        disk_util=[{"name": "sda", "read_ios": 1, "write_ios": 2, "read_ticks": 3, "write_ticks": 4, "in_queue": 5}],
        **{"global options": {"ramp_time": "1"}},
    )
)


@pytest.mark.parametrize("place", list(places(WHOLE)), ids=lambda at: ".".join(map(str, at)))
def test_nonsense_in_a_document_never_stops_the_reader(place: tuple[str | int, ...], tmp_path: Path) -> None:
    writer = Writer(tmp_path, "test")
    for value in HOSTILE:
        wrong = json.dumps(replaced(WHOLE, place, value), indent=2).encode()
        for item in read({1: wrong + b"\n", 2: document(2, job("a", 0, 20, 2000)), 3: wrong}, end=4):
            if isinstance(item, Rows):
                writer.samples("fio", item)
            elif isinstance(item, Event):
                writer.event("fio", item)
            else:
                writer.inventory("fio", START, item)
    writer.flush()
    writer.close()


@pytest.mark.parametrize(
    "output",
    [b"\xff\xfe\x00{\n}\n", b"{" * 100_000, b"{\n" * 1000 + b"}\n" * 1000, b"\n}\n}\n", bytes(range(256)) * 50],
    ids=["not UTF-8", "braces", "braces on lines", "closing braces", "all bytes"],
)
def test_nonsense_around_documents_never_stops_the_reader(output: bytes) -> None:
    items = read({1: output, 2: b"\n}\n" + document(2, job("a", 0, 20, 2000)), 3: output}, end=4)
    assert [row.entity for row in items if isinstance(row, Rows)] == [["fio/a"]]


@pytest.mark.parametrize("seed", range(8))
def test_groups_are_marked_as_they_ran_one_after_the_other_or_at_the_same_time(seed: int) -> None:
    # (begin, end) of each group, in seconds: those of one block run together, and blocks follow each other.
    random = Random(seed)
    ran: list[tuple[float, float]] = []
    begin = 0.2
    for _ in range(3):
        block = [(begin, begin + random.uniform(2.2, 6)) for _ in range(random.randint(1, 3))]
        ran += block
        begin = max(end for _, end in block) + 0.05

    def at(moment: float) -> bytes:
        seconds = [min(max(moment - begin, 0.0), end - begin) for begin, end in ran]
        return document(
            moment,
            *(
                job(f"j{group}", group, round(100 * of_one), round(1000 * of_one)) | {"elapsed": ceil(moment)}
                for group, of_one in enumerate(seconds)
            ),
        )

    documents = {float(moment): at(moment) for moment in range(1, ceil(begin) + 2)}
    live = steps(read(documents, end=begin + 2))
    imported = Reported.of_report(*documents.values()).steps
    for marks, late in ((live, 1.0), (imported, 0.1)):
        marked = {(name, step): moment for name, step, moment in marks}
        assert len(marked) == len(marks) == 2 * len(ran)
        for group, (began, ended) in enumerate(ran):
            assert began - 0.1 <= marked["step-begin", f"j{group}"] <= began + late
            assert marked["step-end", f"j{group}"] == pytest.approx(ended, abs=0.1)
