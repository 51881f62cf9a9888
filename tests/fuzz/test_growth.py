"""Time and memory in proportion to the input, whatever its shape: `re` would hold the recorder's loop meanwhile."""

from __future__ import annotations

from random import Random

import pytest

from sanpath.recorder.importing.files.unread_files import describe_unread_file
from tests.fuzz.growth import MEMORY_SIZE, MOST, growth
from tests.fuzz.shapes import shapes
from tests.fuzz.target import Target
from tests.fuzz.targets import PARSERS

_MEASURED = 8
"""Shapes of a target whose memory is measured in a test run; tracemalloc makes a parser three times as slow."""

pytestmark = pytest.mark.slow

each_parser = pytest.mark.parametrize("target", PARSERS, ids=lambda target: target.name.replace(" ", "-"))


@each_parser
def test_time_grows_no_faster_than_the_input(target: Target) -> None:
    target.failure(target.seeds[0])
    found = {shape.name: grown for shape in shapes(target, 1) if (grown := growth(target, shape.of_size)) > MOST}
    assert found == {}


@each_parser
def test_memory_is_in_proportion(target: Target) -> None:
    target.failure(target.seeds[0])
    random, known = Random(f"memory of {target.name}"), list(shapes(target, 1))
    chosen = random.sample(known, min(_MEASURED, len(known)))
    given = {shape.name: shape.of_size(MEMORY_SIZE) for shape in chosen}
    if not target.headed:  # Else what stands behind the first argument, as a key, would grow as well.
        seed, size = random.choice(target.seeds) or b"a", random.randint(100_000, 400_000)
        given["a seed over and over"] = (seed * (size // len(seed) + 1))[:size]
    assert {name: taken for name, one in given.items() if (taken := target.memory(one)) > 1} == {}


@pytest.mark.parametrize(
    ("reader", "column"),
    [
        ("esxtop", r"\\e\Physical Disk Adapter(vm{:x})\Reads/sec"),
        ("esxtop", r"\\e\Physical Disk SCSI Device(naa.{:x})\Reads/sec"),
        ("esxtop", r"\\e\Physical Disk Path(vmhba1:C0:T0:L{})\Reads/sec"),
        ("esxtop", r"\\e\Virtual Disk(v{:x}:scsi0:1)\Reads/sec"),
        ("perfmon", r"\\e\PhysicalDisk({})\Disk Reads/sec"),
        ("perfmon", r"\\e\Cluster CSVFS({})\Reads/sec"),
    ],
)
def test_a_header_of_nothing_but_instances_stays_in_proportion(reader: str, column: str) -> None:
    """Each column is an entity of its own, with links: the most that a header can cost."""
    target = next(target for target in PARSERS if target.name == reader)
    columns = ",".join(f'"{column.format(number)}"' for number in range(3000))
    assert target.memory(f'"(PDH-CSV 4.0) (UTC)(0)",{columns}\n'.encode()) < 1


@pytest.mark.parametrize("repeated", [b"\n", b" \r\n", b"\t \n", b"a:", b"[a]\n", b"a=b,", b"a ", b"-"])
def test_a_file_that_no_collector_reads_is_described_in_proportion(repeated: bytes) -> None:
    target = Target("unread file", lambda: [b"a"], lambda given: describe_unread_file(given, "a"), reducible=False)
    assert growth(target, lambda size: repeated * (size // len(repeated))) < MOST


def test_a_quadratic_parser_is_found() -> None:
    def parser(given: bytes) -> int:
        return sum(given.count(b"ab", at) for at in range(0, len(given), 16))

    target = Target("quadratic", lambda: [b"a"], parser, reducible=False)
    assert growth(target, lambda size: b"a" * size) > MOST


def test_a_linear_parser_is_not() -> None:
    target = Target("linear", lambda: [b"a"], lambda given: [bytes((one,)) for one in given], reducible=False)
    assert growth(target, lambda size: b"a" * size) < MOST


def test_a_parser_that_fills_the_memory_is_found() -> None:
    target = Target("memory", lambda: [b"a"], lambda given: [{one} for one in given], reducible=False)
    assert target.memory(b"a" * 100_000) > 1
