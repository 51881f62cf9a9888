"""Reads the text of a fio job file: its options with their lines, of `[global]` and of one job."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sanpath.errors import ConfigError, UsageError
from sanpath.yaml_document import read_text

_MAX_CHARACTERS = 1 << 16
"""Maximum size of a job file: sanpath's own choice, far more than people write."""
_SECTION = re.compile(r"\[([^\]]{1,255})\]")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_GLOBAL = "global"
_JOB_FILE_START = re.compile(r"\s*(?:[#;][^\n]*\n\s*)*\[")
"""The beginning of a job file: a section, after comments. A plan never begins like this."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option with its line. `value`: "" if it has none."""

    line: int
    name: str
    value: str


def is_job_file(path: Path) -> bool:
    """Whether a file is a job file of fio and not a plan, judged by its first line that is not a comment."""
    if not path.is_file():
        return False
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return _JOB_FILE_START.match(file.read(_MAX_CHARACTERS)) is not None
    except OSError:
        return False


def read_options(path: Path) -> dict[str, Option]:
    """Return name → option as fio takes it: the last one, that of the job before that of `[global]`.

    Raises ConfigError if the file is no job file or does not have exactly one job; UsageError if it cannot be read.
    """
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: is not a regular file")  # A plan may name a pipe, and opening it would never end.
    text = read_text(path, _MAX_CHARACTERS + 1)
    if len(text) > _MAX_CHARACTERS:
        raise ConfigError(path, None, "", "is too long for a job file")
    shared: dict[str, Option] = {}
    own: dict[str, Option] = {}
    jobs: list[int] = []
    within: dict[str, Option] | None = None
    for line, words in _lines(text):
        if (section := _SECTION.match(words)) is not None:
            is_global = section[1] == _GLOBAL
            within = shared if is_global else own
            jobs += [] if is_global else [line]
            continue
        if re.split(r"[\s=]", words, maxsplit=1)[0] == "include":
            raise ConfigError(path, line, "include", "reads another file: put its lines here")
        name, _, value = (part.strip() for part in words.partition("="))
        if within is None or not _NAME.fullmatch(name):
            raise ConfigError(path, line, "", "is not an option of a fio job")
        if "$" in value or "`" in value:
            raise ConfigError(path, line, name, "variables are not filled in: write the value")
        within[name] = Option(line, name, value)
    if len(jobs) != 1:
        place = f" (lines {', '.join(map(str, jobs[:5]))})" if jobs else ""
        raise ConfigError(
            path, None, "", f"has {len(jobs)} jobs{place}: a probe varies one job, so keep one in a copy"
        )
    return shared | own


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number, text) of the lines with content, without fio's comments."""
    for number, line in enumerate(text.splitlines(), start=1):
        if words := re.split("[#;]", line, maxsplit=1)[0].strip():
            yield number, words
