"""What is said to a shell on a Linux machine over SSH, and what its answers hold. No I/O.

One /bin/sh serves all requests of a connection. It is given scripts on standard input: no other user sees them, the
account's own shell need not be a POSIX one, and its start-up files are run once. It has a random word as its only
argument. An answer begins with that word and a NUL, and ends with it and a line feed: what start-up files have
written stands before, and an answer that is not whole is known.

A file is known from the next one by what stands between them, /proc/PID/cmdline of that very shell, which holds the
random word: so one process, `cat`, writes a hundred files, byte for byte, in place of one process a file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from sanpath.plugin import CommandReply
from sanpath.transport.machine import PATH_TOO

SHELL = "/bin/sh -s"
_FILES_AT_ONCE = 100
_GLOB = re.compile(r"\*|\?|\[!?[\w.:-]+\]")

_READ = r"""request() {{
  word=$1 mark=/proc/$$/cmdline
  set --
  for file in {patterns}; do
    [ -f "$file" ] && [ -r "$file" ] && set -- "$@" "$mark" "$file"
    [ $# -ge {arguments} ] && {{ show "$@"; set --; }}
  done
  [ $# -eq 0 ] || show "$@"
  printf '%s\n' "$word"
}}
show() {{
  printf '%s\0' "$word"
  printf '%.0s%s\0' "$@"
  cat "$@" "$mark" 2>/dev/null
}}
request "$1"
"""
_NAMES = r"""request() {{
  printf '%s\0' "$1"
  for file in {patterns}; do [ -e "$file" ] && printf '%s\0' "$file"; done
  printf '%s\n' "$1"
}}
request "$1"
"""
_RUN = r"""request() {{
  printf '%s\0' "$1"
  printf '%s\0' "$1" >&2
  (PATH=$PATH:{path} LC_ALL=C; export PATH LC_ALL; exec {command}) </dev/null
  printf '%s\0%d\0%s\n' "$1" $? "$1"
  printf '%s\n' "$1" >&2
}}
request "$1"
"""


def word_of(pattern: str) -> str:
    """A pattern as a word of a shell: everything but its wildcards is quoted.

    >>> word_of("/sys/block/sd[a-c]*/my size")
    '/sys/block/sd[a-c]*'"'/my size'"
    >>> word_of("/proc/$(reboot)/[`x`]")
    "'/proc/$(reboot)/[`x`]'"
    """
    parts, end = [], 0
    for match in _GLOB.finditer(pattern):
        parts += [pattern[end : match.start()], match[0]]
        end = match.end()
    parts.append(pattern[end:])
    return "".join(shlex.quote(part) if place % 2 == 0 else part for place, part in enumerate(parts) if part)


def read_script(patterns: Sequence[str]) -> bytes:
    """Writes the files that the patterns name."""
    return _READ.format(patterns=_words(patterns), arguments=2 * _FILES_AT_ONCE).encode()


def names_script(patterns: Sequence[str]) -> bytes:
    """Writes the paths that there are of the patterns."""
    return _NAMES.format(patterns=_words(patterns)).encode()


def run_script(command: Sequence[str]) -> bytes:
    """Runs the command."""
    return _RUN.format(path=PATH_TOO, command=shlex.join(command)).encode()


def _words(patterns: Sequence[str]) -> str:
    return " ".join(map(word_of, patterns)) or "''"


def end_of(word: str) -> bytes:
    """What every answer ends with."""
    return word.encode() + b"\n"


def files_of(answer: bytes, word: str) -> dict[str, bytes]:
    """Path → content, of what a read script wrote. Raises ValueError when it makes no sense."""
    mark = b"".join(part.encode() + b"\0" for part in (*SHELL.split(), word))
    head = word.encode() + b"\0"
    found: dict[str, bytes] = {}
    _, begun, rest = answer.removesuffix(end_of(word)).partition(head)
    parts = iter((begun + rest).split(mark))
    for part in parts:
        if not part:
            return found
        if not part.startswith(head):
            break
        for path in part[len(head) :].split(b"\0")[:-1]:
            content = next(parts, None)
            if content is None:
                raise ValueError("the answer ends within a file")
            found[path.decode("utf-8", "surrogateescape")] = content
    raise ValueError("the answer is not framed as it was asked for")


def names_of(answer: bytes, word: str) -> list[str]:
    """The paths that a names script wrote, sorted."""
    return sorted({name.decode("utf-8", "surrogateescape") for name in _body(answer, word).split(b"\0")[:-1]})


def reply_of(answer: bytes, errors: bytes, word: str) -> CommandReply:
    """What a command did. Raises ValueError when it makes no sense."""
    output, _, code = _body(answer, word).rpartition(word.encode() + b"\0")
    return CommandReply(int(code.removesuffix(b"\0")), output, _body(errors, word))


def _body(answer: bytes, word: str) -> bytes:
    return answer.removesuffix(end_of(word)).partition(word.encode() + b"\0")[2]
