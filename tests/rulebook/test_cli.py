"""`sanpath rules`: what a user sees and the exit codes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.catalogue.catalogue import facts
from sanpath.cli.commands.rules import app
from sanpath.errors import SanpathError
from sanpath.rulebook.fact_kinds import LAYERS
from sanpath.rulebook.model import ROLES

ROOT = Path(__file__).parents[2]
LINK_FULL = ROOT / "rules/sanpath_rules/fabric/link-full.yaml"


def run(*arguments: str) -> tuple[int, str, str]:
    """As the command line does it: an error that sanpath raises on purpose is printed, and sets the exit code."""
    result = CliRunner().invoke(app, list(arguments))
    if isinstance(result.exception, SanpathError):
        return result.exception.exit_code, result.stdout, f"sanpath: {result.exception}\n"
    return result.exit_code, result.stdout, result.stderr


def test_list_shows_every_rule() -> None:
    code, out, _ = run("list")
    assert code == 0
    for rule_id in ("link-full", "speed-held-by-one-end", "host-array-gap"):
        assert rule_id in out


@pytest.mark.parametrize("command", ["list", "test"])
def test_coverage_of_layers_and_roles_is_printed(command: str) -> None:
    _, out, _ = run(command)
    table = f"\n{out}".partition("\nlayer ")[2].splitlines()
    lines = [words for line in table if len(words := line.split()) > len(ROLES)]
    rows = {words[-len(ROLES) - 2]: words[-len(ROLES) - 1 :] for words in lines}
    assert table[0].split() == ["each", *ROLES, "all"]
    layers = {words[0] for words in lines}
    assert {"load", "guest", "host", "fabric", "array_front", "array_back", "data"} <= layers
    assert int(rows["link"][0]) >= 2, "causes"
    assert int(rows["source"][5]) >= 5, "data quality"
    assert re.search(r"^\d+ sandbox, \d+ stable$", out, re.MULTILINE)


def test_show_prints_condition_limits_and_commands_that_can_be_copied() -> None:
    code, out, _ = run("show", "link-full")
    assert code == 0
    assert "full_share = 0.95" in out
    assert "$ esxcli storage nmp psp roundrobin deviceconfig set --type=iops --iops=1 --device <naa>\n" in out


def test_unknown_rule_is_one_line_and_exit_2() -> None:
    assert run("show", "link-fulll") == (
        2,
        "",
        "sanpath: no rule is called 'link-fulll'; did you mean 'link-full'?\n",
    )


def test_built_in_tests_pass() -> None:
    code, out, _ = run("test")
    assert code == 0
    assert out.endswith(" 0 failed\n")


def write(folder: Path, rule_id: str, *replaced: tuple[str, str]) -> Path:
    text = LINK_FULL.read_text(encoding="utf-8").replace("id: link-full", f"id: {rule_id}")
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new, 1)
    file = folder / f"{rule_id}.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_failing_test_is_one_line_and_exit_1(tmp_path: Path) -> None:
    file = write(tmp_path, "ours", ("utilisation: 0.977", "utilisation: 0.5"))
    code, out, _ = run("test", str(file))
    assert code == 1
    lines = out.splitlines()
    assert lines[0] == "ours: published 4GFC test, 415.2 of 425 MB/s in every window: expected hit, got clear"
    assert lines[-1] == "1 rule, 8 tests, 1 failed"


def test_broken_rule_file_is_exit_2_with_file_line_and_caret(tmp_path: Path) -> None:
    file = write(tmp_path, "ours", ("when: on_loaded_path and utilisation", "when: on_loaded_path and utill"))
    code, out, err = run("test", str(tmp_path))
    assert (code, out) == (2, "")
    assert err.splitlines()[0] == f"sanpath: {file}:7: no fact is called 'utill'; did you mean 'utilisation'?"
    assert err.splitlines()[2].strip() == "^^^^^"


@pytest.mark.parametrize("arguments", [("list",), ("show", "ours")])
def test_markup_in_a_rule_of_ones_own_is_printed_as_it_is(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    write(tmp_path, "ours", ("title: A link of the loaded path is saturated", 'title: "[/red]full[b]"'))
    code, out, _ = run(*arguments, "--rules", str(tmp_path))
    assert code == 0
    assert "[/red]full[b]" in out


def test_missing_folder_is_exit_2(tmp_path: Path) -> None:
    code, _, err = run("list", "--rules", str(tmp_path / "nowhere"))
    assert (code, err) == (2, f"sanpath: {tmp_path / 'nowhere'}: no such file or folder\n")


def test_importing_the_command_imports_nothing_heavy() -> None:
    code = (
        "import sys, sanpath.cli.commands.rules\n"
        "print({'duckdb', 'pydantic', 'yaml', 'rich.table'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_every_table_of_facts_has_a_layer() -> None:
    assert LAYERS.keys() == facts().keys()
