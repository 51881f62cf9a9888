"""A folder of rules that somebody else has made: its links and pipes keep nobody waiting."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sanpath.errors import UsageError
from sanpath.rulebook.rule_files import read_rules

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders here")


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "device"])
def test_a_pipe_or_device_is_not_opened(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "endless.yaml")
    with pytest.raises(UsageError, match=r"endless\.yaml: is not a regular file"):
        read_rules(tmp_path)


def test_links_to_folders_above_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "one.yaml").write_text("not a mapping\n")
    for name in ("a", "b", "c"):
        (tmp_path / "rules" / name).symlink_to(tmp_path / "rules")
    with pytest.raises(UsageError) as refused:
        read_rules(tmp_path / "rules")
    assert len(str(refused.value).splitlines()) == 1


def test_a_folder_that_is_linked_once_is_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "one.yaml").write_text("not a mapping\n")
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "linked").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=r"linked/one\.yaml"):
        read_rules(tmp_path / "rules")


def test_a_whole_file_system_is_no_folder_of_rules(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number in range(10_001):
        (tmp_path / "many" / f"{number}.txt").touch()
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "linked").symlink_to(tmp_path / "many")
    with pytest.raises(UsageError, match="more than 10,000 files and folders"):
        read_rules(tmp_path / "rules")
