"""What a Windows program wrote, as text: UTF-16 and UTF-8 by their byte-order mark, else UTF-8 or the code page."""

from __future__ import annotations

import codecs

_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_LONGEST_MARK = 3


def _as_cp1252(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error("jetstress-cp1252", _as_cp1252)


class Decoder:
    """Bytes that come in parts → text. A PowerShell redirection writes UTF-16, cmd.exe the code page."""

    def __init__(self) -> None:
        self._head = b""
        self._decoder: codecs.IncrementalDecoder | None = None

    def feed(self, added: bytes, last: bool = False) -> str:
        """What is whole now; a part may end inside a character."""
        if self._decoder is None:
            self._head += added
            if len(self._head) < _LONGEST_MARK and not last:
                return ""
            encoding = next((name for mark, name in _MARKS if self._head.startswith(mark)), "utf-8")
            errors = "replace" if encoding == "utf-16" else "jetstress-cp1252"
            self._decoder = codecs.getincrementaldecoder(encoding)(errors)
            added = self._head
        return self._decoder.decode(added, last)
