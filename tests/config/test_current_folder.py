"""sanpath.yaml of the current folder is read unasked: only a file, and only where nobody else can have put it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sanpath.config import default_config, load_config
from sanpath.errors import UsageError
from sanpath.probe.job_file import job_load
from sanpath.probe.job_text import is_job_file
from sanpath.rulebook.site.settings import Choice, rules_of

NOT_FILES = [os.mkfifo, lambda path: path.symlink_to("/dev/zero")] if hasattr(os, "mkfifo") else []


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("make", NOT_FILES)
def test_a_pipe_or_device_is_not_opened(here: Path, make: Callable[[Path], None]) -> None:
    make(here / "sanpath.yaml")
    with pytest.raises(UsageError, match=r"sanpath\.yaml: is not a regular file"):
        load_config(None)
    with pytest.raises(UsageError, match=r"sanpath\.yaml: is not a regular file"):
        rules_of(Choice())


@pytest.mark.parametrize("make", NOT_FILES)
def test_a_pipe_or_device_is_no_job_file(here: Path, make: Callable[[Path], None]) -> None:
    make(here / "job.fio")
    assert not is_job_file(here / "job.fio")
    with pytest.raises(UsageError, match=r"job\.fio: is not a regular file"):
        job_load(here / "job.fio")


def test_an_endless_file_that_is_named_is_read_to_the_length_that_people_write(here: Path) -> None:
    (here / "long.yaml").write_text("# a comment\n" * 1_000_000)
    with pytest.raises(UsageError, match=r"long\.yaml: is too long for a configuration file"):
        load_config(here / "long.yaml")


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize(
    ("owner", "mode", "is_read"), [(12345, 0o1777, False), (12345, 0o755, True), (0, 0o1777, True)]
)
def test_that_of_another_user_in_a_folder_of_all_has_to_be_named(
    here: Path, owner: int, mode: int, is_read: bool
) -> None:
    (here / "sanpath.yaml").write_text("sources: []\n")
    os.chown(here / "sanpath.yaml", owner, -1)
    here.chmod(mode)
    if is_read:
        assert default_config() == Path("sanpath.yaml")
    else:
        with pytest.raises(UsageError, match=r"belongs to another user.*--config sanpath\.yaml"):
            load_config(None)
    assert load_config(Path("sanpath.yaml")).sources == ()
