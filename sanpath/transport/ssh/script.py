"""Scripts for a shell on a Linux machine over SSH, and parsing of their answers. No I/O.

One /bin/sh serves all requests of a connection. It reads scripts from standard input: no other user sees them, the
account's login shell need not be POSIX, and its start-up files run once. The shell has a random word as its only
argument. An answer begins with that word and a NUL, and ends with the word and a line feed. So the output of
start-up files is separated from it, and an incomplete answer is detected.

Files in an answer are separated by /proc/PID/cmdline of that same shell, which contains the random word. So one
process, `cat`, writes a hundred files byte for byte, instead of one process for each file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from sanpath.plugin import CommandReply
from sanpath.transport.local_machine import EXTRA_PATH

SHELL = "/bin/sh -s"
_FILES_AT_ONCE = 100
_GLOB = re.compile(r"\*|\?|\[!?[\w.:-]+\]")

_READ_SCRIPT = r"""request() {{
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
_NAMES_SCRIPT = r"""request() {{
  printf '%s\0' "$1"
  for file in {patterns}; do [ -e "$file" ] && printf '%s\0' "$file"; done
  printf '%s\n' "$1"
}}
request "$1"
"""
_RUN_SCRIPT = r"""request() {{
  printf '%s\0' "$1"
  printf '%s\0' "$1" >&2
  (PATH=$PATH:{path} LC_ALL=C; export PATH LC_ALL; exec {command}) </dev/null
  printf '%s\0%d\0%s\n' "$1" $? "$1"
  printf '%s\n' "$1" >&2
}}
request "$1"
"""


def shell_word(pattern: str) -> str:
    """Return a pattern as a word of a shell, with everything but its wildcards quoted.

    >>> shell_word("/sys/block/sd[a-c]*/my size")
    '/sys/block/sd[a-c]*'"'/my size'"
    >>> shell_word("/proc/$(reboot)/[`x`]")
    "'/proc/$(reboot)/[`x`]'"
    """
    pieces, end = [], 0
    for match in _GLOB.finditer(pattern):
        pieces += [pattern[end : match.start()], match[0]]
        end = match.end()
    pieces.append(pattern[end:])
    return "".join(shlex.quote(text) if number % 2 == 0 else text for number, text in enumerate(pieces) if text)


def read_script(patterns: Sequence[str]) -> bytes:
    """Return the script that writes the files that match the patterns."""
    return _encode(_READ_SCRIPT.format(patterns=_words(patterns), arguments=2 * _FILES_AT_ONCE))


def names_script(patterns: Sequence[str]) -> bytes:
    """Return the script that writes the existing paths that match the patterns."""
    return _encode(_NAMES_SCRIPT.format(patterns=_words(patterns)))


def run_script(command: Sequence[str]) -> bytes:
    """Return the script that runs the command. Raises UnicodeEncodeError for a word that cannot be encoded."""
    return _RUN_SCRIPT.format(path=EXTRA_PATH, command=shlex.join(command)).encode("utf-8", "surrogateescape")


def _encode(text: str) -> bytes:
    """Return a script as bytes. Paths keep their bytes on the machine, even if they are not UTF-8."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")  # A path that no machine can have, so that nothing is found.


def _words(patterns: Sequence[str]) -> str:
    return " ".join(map(shell_word, patterns)) or "''"


def end_line(word: str) -> bytes:
    """Return the last line of every answer."""
    return word.encode() + b"\n"


def parse_files(answer: bytes, word: str) -> dict[str, bytes]:
    """Parse the output of a read script into {path: content}. Raises ValueError if it is malformed."""
    mark = b"".join(argument.encode() + b"\0" for argument in (*SHELL.split(), word))
    head = word.encode() + b"\0"
    files: dict[str, bytes] = {}
    _, separator, body = answer.removesuffix(end_line(word)).partition(head)
    sections = iter((separator + body).split(mark))
    for section in sections:
        if not section:
            return files
        if not section.startswith(head):
            break
        for path in section[len(head) :].split(b"\0")[:-1]:
            content = next(sections, None)
            if content is None:
                raise ValueError("the answer ends within a file")
            files[path.decode("utf-8", "surrogateescape")] = content
    raise ValueError("the answer is not framed as it was asked for")


def parse_names(answer: bytes, word: str) -> list[str]:
    """Parse the output of a names script into sorted paths."""
    return sorted({name.decode("utf-8", "surrogateescape") for name in _body(answer, word).split(b"\0")[:-1]})


def parse_reply(answer: bytes, errors: bytes, word: str) -> CommandReply:
    """Parse the output of a run script. Raises ValueError if it is malformed."""
    output, _, code = _body(answer, word).rpartition(word.encode() + b"\0")
    return CommandReply(int(code.removesuffix(b"\0")), output, _body(errors, word))


def _body(answer: bytes, word: str) -> bytes:
    return answer.removesuffix(end_line(word)).partition(word.encode() + b"\0")[2]
