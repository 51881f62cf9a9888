"""Parses a command line of fio that was copied together with its output: job → options. Pure.

    $ sudo fio --name=rand --rw=randread --bs=4k --iodepth=32 --direct=1 --runtime=60 --group_reporting

fio accepts long options with one or two dashes, and values after "=" or a space. Options before the first name apply
to all jobs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

_COMMAND = re.compile(r"(?:^|[\s#$>%;&`])(?:[\w./~-]{0,255}/)?fio\s+(-{1,2}[a-z].*)")
_OPTION = re.compile(r"--?([a-z][a-z0-9_-]*)(?:=(.*))?")
_ALIASES = {"readwrite": "rw", "blocksize": "bs"}
_FLAGS = ("time_based",)
"""Options without a value that are used."""
_MAX_CHARACTERS = 8192
"""Characters of a line that are searched for a command."""


def parse_command_line(line: str) -> Mapping[str, Mapping[str, str]]:
    """The options of each job, as fio prints them in JSON. Empty: the line is not a command line, or it names a job
    file, which may contain other options.

    >>> parse_command_line("$ fio --direct=1 -rw randread --name=a --iodepth=4")
    {'a': {'direct': '1', 'rw': 'randread', 'iodepth': '4'}}
    >>> parse_command_line("# ../src/fio --name=b --rw=read")
    {'b': {'rw': 'read'}}
    >>> parse_command_line("I ran `fio --name=c --rw=read` on both")
    {'c': {'rw': 'read'}}
    """
    match = _COMMAND.search(line[:_MAX_CHARACTERS])
    try:
        words = shlex.split(re.split(r" \| | > |`", match[1])[0]) if match else []
    except ValueError:
        return {}
    shared: dict[str, str] = {}
    jobs: dict[str, dict[str, str]] = {}
    current, name = shared, ""
    for word in words:
        option = _OPTION.fullmatch(word)
        if option is None and not name:
            return {}
        if option is not None:
            name, value = _ALIASES.get(option[1], option[1].replace("-", "_")), option[2]
            if value is None:
                if name in _FLAGS:
                    current[name] = "1"
                continue  # The option has no value, or the next word is its value.
        else:
            value = word
        if name == "name":
            current = jobs.setdefault(value, dict(shared))
        else:
            current[name] = value
        name = ""
    return jobs
