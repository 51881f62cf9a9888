"""Every mistake in a plan is one line: file, line, key, what is accepted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from sanpath.errors import ConfigError, UsageError
from sanpath.sweep.matrix import steps
from sanpath.sweep.plan import Plan, load_plan
from tests.recorder.processes import sanpath

GOOD = "target: {uri: 'nbd://10.0.0.1:10809'}\nmatrix:\n  in_flight: [1, 2]\n"

# What stands in the file, then the line, the key and words of the answer.
MISTAKES = {
    "empty": ("", None, "", "expected a mapping with the keys engine, command"),
    "a list": ("- a\n", 1, "", "expected a mapping"),
    "bad YAML": ("matrix: [\n", 2, "", "not valid YAML"),
    "unknown key": (GOOD + "second: 3\n", 4, "second", "did you mean seconds?"),
    "unknown key inside": (GOOD + "  in_fligt: 1\n", 4, "matrix.in_fligt", "did you mean in_flight?"),
    "no keys in target": (
        "target: /dev/sdb\nmatrix: {in_flight: 1}\n",
        1,
        "target",
        "keys of its own below it: filename",
    ),
    "no target": ("matrix: {in_flight: 1}\n", 1, "target", "is required"),
    "no in_flight": ("target: {filename: /dev/sdb}\nmatrix: {threads: 1}\n", 2, "matrix.in_flight", "is required"),
    "two kinds of target": (
        "target: {filename: a, uri: b}\nmatrix: {in_flight: 1}\n",
        1,
        "target",
        "give one of filename, uri and directory",
    ),
    "no size": (GOOD + "  block_bytes: 64 kilo\n", 4, "matrix.block_bytes.0", "such as 64k"),
    "nothing in flight": (GOOD.replace("[1, 2]", "[0]"), 3, "matrix.in_flight.0", "greater than or equal to 1"),
    "no value": (GOOD.replace("[1, 2]", "[]"), 3, "matrix.in_flight", "at least one value"),
    "a value twice": (GOOD.replace("[1, 2]", "[2, 2]"), 3, "matrix.in_flight", "given twice"),
    "a share above one": (GOOD + "  read_ratio: 70\n", 4, "matrix.read_ratio.0", "less than or equal to 1"),
    "writes": (GOOD + "  read_ratio: [1, 0.7]\n", 4, "matrix.read_ratio.1", "destroys what is on the target"),
    "files without a folder": (GOOD + "  files: 4\n", 4, "matrix.files", "made in a target's directory"),
    "a folder": ("target: {directory: /mnt}\nmatrix: {in_flight: 1}\n", 1, "target.directory", "allow_writes: true"),
    "more targets than there are": (GOOD + "  targets: [1, 2]\n", 4, "matrix.targets.1", "there are 1"),
    "threads that cannot share": (
        GOOD + "  threads: 2\n",
        3,
        "matrix.in_flight.0",
        "1 cannot be shared equally among 2 threads",
    ),
    "a working set that is too small": (
        GOOD + "  working_set_bytes: 4k\n",
        4,
        "matrix.working_set_bytes.0",
        "less than one block",
    ),
    "too short to be steady": (
        GOOD + "steady: {at_most_seconds: 5}\n",
        4,
        "steady.at_most_seconds",
        "less than seconds (20)",
    ),
    "an option of the plan's own": (GOOD + "fio: {iodepth: 3}\n", 4, "fio.iodepth", "follows from the plan"),
    "an unknown engine": (GOOD + "engine: iometer\n", 4, "engine", "'fio', 'diskspd' or 'vdbench'"),
    "a host twice": (GOOD + "hosts: [a, a]\n", 4, "hosts", "named twice"),
    "steady without figures on the way": (
        GOOD.replace("uri: 'nbd://10.0.0.1:10809'", "filename: a") + "engine: vdbench\nsteady: {}\n",
        5,
        "steady",
        "only at its end",
    ),
    "NBD for another engine": (GOOD + "engine: diskspd\n", 1, "target", "diskspd needs filename"),
}


@pytest.mark.parametrize(("text", "line", "key", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, text: str, line: int | None, key: str, words: str) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as result:
        load_plan(file)
    assert (result.value.line, result.value.key) == (line, key)
    assert words in str(result.value)
    assert "\n" not in str(result.value)


def test_a_file_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        load_plan(tmp_path / "plan.yaml")


def test_the_command_ends_with_2_and_one_line(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(GOOD + "  read_ratio: 0.5\n")
    done = sanpath("sweep", "plan.yaml", "--into", "r.sanpath", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "sanpath: plan.yaml:4: matrix.read_ratio.0: writing destroys what is on the target: "
        "allow it with allow_writes: true\n"
    )
    assert not (tmp_path / "r.sanpath").exists()


def plan(**changes: Any) -> Plan:
    return Plan.model_validate({"target": {"filename": "/dev/sdb"}, "matrix": {"in_flight": 1}} | changes)


def test_sizes_may_have_suffixes() -> None:
    matrix = plan(matrix={"block_bytes": ["512", 4096, "64k", "1M", "2 MiB"], "in_flight": 1}).matrix
    assert matrix.block_bytes == (512, 4096, 65536, 1 << 20, 2 << 20)


def test_the_same_plan_in_other_words_is_the_same() -> None:
    assert plan().digest == plan(hosts="local", matrix={"block_bytes": "64k", "in_flight": [1]}).digest
    assert plan().digest != plan(seconds=21).digest
    assert plan().digest != plan(matrix={"in_flight": [1, 2]}).digest


def test_in_flight_changes_fastest_and_names_say_what_differs() -> None:
    matrix = {"block_bytes": ["4k", "64k"], "read_ratio": [1, 0.7], "in_flight": [8, 1]}
    found = steps(plan(matrix=matrix, allow_writes=True))
    assert [step.name for step in found] == [
        "4 KiB random read, 8 outstanding",
        "4 KiB random read, 1 outstanding",
        "4 KiB random, 70 % read, 8 outstanding",
        "4 KiB random, 70 % read, 1 outstanding",
        "64 KiB random read, 8 outstanding",
        "64 KiB random read, 1 outstanding",
        "64 KiB random, 70 % read, 8 outstanding",
        "64 KiB random, 70 % read, 1 outstanding",
    ]
    assert [step.key for step in found][:2] == ["step-01", "step-02"]


def test_the_whole_matrix_is_repeated_by_names_that_a_comparison_knows() -> None:
    found = steps(plan(repeats=2, matrix={"in_flight": [1, 8]}))
    assert [step.key for step in found] == ["step-01", "step-02", "step-01-2", "step-02-2"]
    assert [step.name.partition(", ")[2] for step in found] == [
        "1 outstanding",
        "8 outstanding",
        "1 outstanding (2)",
        "8 outstanding (2)",
    ]
    assert plan(repeats=1).digest == plan().digest != plan(repeats=2).digest


def test_every_step_of_a_full_matrix_has_a_name_of_its_own() -> None:
    matrix = {
        "block_bytes": ["512", "4k", "1536"],
        "read_ratio": [0, 0.701, 0.70, 1],
        "access": ["random", "sequential"],
        "working_set_bytes": ["1g", "1500m"],
        "targets": [1, 2],
        "threads": [1, 2],
        "in_flight": [2, 4],
    }
    found = steps(plan(target={"filename": ["/dev/sdb", "/dev/sdc"]}, matrix=matrix, allow_writes=True))
    assert len({step.name for step in found}) == len({step.key for step in found}) == 3 * 4 * 2 * 2 * 2 * 2 * 2


def test_the_example_is_a_plan() -> None:
    example = Path(__file__).parents[2] / "examples" / "sweep" / "plan.yaml"
    assert len(steps(load_plan(example))) >= 12
    assert yaml.safe_load(example.read_text())["engine"] == "fio"
