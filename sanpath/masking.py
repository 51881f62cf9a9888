"""Masks passwords and keys in a load's command line and in its output, where fio repeats its options; and control
characters in texts of others. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MASK = "***"
_NAME = r"(?:[\w.-]{0,64}(?:password|passwd|passphrase|secret(?:key)?|token)|(?:[\w.-]{0,64}[_.-])?(?:pass|key))"
"""An option whose value is a secret: http_pass, http_s3_key, target_password, http_swift_auth_token ..."""
_HINTS = ("//", "pass", "secret", "token", "key")
"""A text without any of them has nothing to mask: most output is not searched further."""


_ACCOUNT = r"(//[^\s/@:%]{0,256}[:%])([^\s/]{0,256}|(?:(?<=%)|[^\s/@%]{0,256}%)[^\s@]{0,256})(?=@)"
"""After `//user` and a `:`, or the `%` of libiscsi, whose password may contain a `/`."""
_OPTION = re.compile(rf"(-{{0,2}}{_NAME}=)(.+)", re.IGNORECASE | re.DOTALL)
_OPTION_ALONE = re.compile(rf"-{{1,2}}{_NAME}", re.IGNORECASE)
_ASSIGNED = rf"(?<![\w.-])(-{{0,2}}{_NAME}=|-{{1,2}}{_NAME}[ \t]+)(\"[^\"]*\"|'[^']*'|[^\s\"']+)"
_IN_JSON = rf"(\"(?!key\"|pass\"){_NAME}\"\s*:\s*\")((?:\\.|[^\"\\])*)"
"""A bare `key` is the name of many things in JSON."""
# Bytes of an encoding such as UTF-8 are not white space, whatever latin-1 takes them for.
_PATTERNS = tuple(re.compile(text, re.IGNORECASE | re.ASCII) for text in (_ACCOUNT, _ASSIGNED, _IN_JSON))


def masked_words(argv: Sequence[str]) -> list[str]:
    r"""Return a command without its secrets.

    >>> masked_words(["fio", r"--filename=iscsi\://u%secret@10.0.0.5/iqn/0", "--http_pass", "secret"])
    ['fio', '--filename=iscsi\\://u%***@10.0.0.5/iqn/0', '--http_pass', '***']
    """
    words: list[str] = []
    for previous, word in zip(("", *argv), argv, strict=False):
        if _OPTION_ALONE.fullmatch(previous):
            words.append(_MASK)
        elif option := _OPTION.fullmatch(word):
            words.append(option[1] + _MASK)
        else:
            for pattern in _PATTERNS:
                word = pattern.sub(rf"\g<1>{_MASK}", word)
            words.append(word)
    return words


def masked_text(text: str) -> str:
    """Return a text without secrets; it has the same length.

    >>> masked_text("iscsi://user%secret@10.0.0.5/iqn/0: connection refused")
    'iscsi://user%******@10.0.0.5/iqn/0: connection refused'
    """
    if not _has_hint(text):
        return text
    return "\n".join(_masked_line(line) if _has_hint(line) else line for line in text.split("\n"))


def masked_bytes(output: bytes) -> bytes:
    """Return output without secrets, in any encoding that contains ASCII; it has the same length."""
    return masked_text(output.decode("latin-1")).encode("latin-1")


def printable(text: str) -> str:
    """Return the text with control characters replaced: names come from devices and from files of others, and would
    reach the terminal."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def printable_lines(text: str) -> str:
    """Return a text of several lines with all other control characters replaced."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _masked_line(line: str) -> str:
    for pattern in _PATTERNS:
        line = pattern.sub(lambda match: match[1] + "*" * len(match[2]), line)
    return line


def _has_hint(text: str) -> bool:
    lower = text.lower()
    return any(hint in lower for hint in _HINTS)
