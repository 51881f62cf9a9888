"""Pseudonyms for names and addresses: the same everywhere, in the same order, and with what joins them kept.

A text is taken apart into words, and every word that is not known to be public gets another. So what two sources call
alike is still called alike, `array/volume` still begins as `array` does, and what was sorted stays so. World wide
names keep what their standards say of vendor and port; the digits of the device are replaced in pieces, so that a
volume's serial number is still the end of its NAA identifier, and a port's name still tells its node.
"""

from __future__ import annotations

import ipaddress
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from sanpath.catalogue import load as catalogue

_WORD = r"[A-Za-z0-9\u0080-\U0010ffff]+"
_HEX = "[0-9A-Fa-f]"
_ALONE = r"(?<![A-Za-z0-9\u0080-\U0010ffff])", r"(?![A-Za-z0-9\u0080-\U0010ffff])"
_TOKEN = re.compile(
    _ALONE[0]
    + "(?:"
    + "|".join(
        (
            r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)",
            rf"(?P<octets>{_HEX}{{2}}(?P<by>[:.-]){_HEX}{{2}}(?:(?P=by){_HEX}{{2}}){{4}}(?:(?P=by){_HEX}{{2}}){{0,10}})",
            rf"(?P<quads>{_HEX}{{4}}(?P<at>[.-]){_HEX}{{4}}(?:(?P=at){_HEX}{{4}}){{1,2}})",
            r"(?P<ipv4>\d{1,3}(?:\.\d{1,3}){3})(?!\.\d)",
            rf"(?P<ipv6>(?:{_HEX}{{1,4}})?:(?:{_HEX}{{0,4}}:){{1,6}}{_HEX}{{0,4}})",
            r"(?P<number>\d+\.\d+)(?!\.\d)",
            f"(?P<word>{_WORD})",
        )
    )
    + ")"
    + _ALONE[1]
)
_QUOTED = re.compile(r'"[^"]*"|\'[^\']*\'')
_HEX_DIGITS = re.compile(rf"(?P<prefix>0[xX])?(?P<digits>{_HEX}{{12,}})")
_SEPARATED = re.compile(
    rf"{_HEX}{{2}}(?:([:.-]){_HEX}{{2}})(?:\1{_HEX}{{2}}){{4,}}|{_HEX}{{4}}(?:([.-]){_HEX}{{4}})(?:\2{_HEX}{{4}})+"
)
_LONG_NUMBER = re.compile(r"\d{6,}")
_LETTERS = "name"
_CAPITALS = (8, 4, 2, 1, 12, 10, 9, 6, 5, 3, 14, 13, 11, 7)
"""Which of its letters are capitals, as bits: the ways between none and all."""


@cache
def _public() -> tuple[frozenset[str], re.Pattern[str]]:
    said = catalogue.public()
    return frozenset(said["words"]), re.compile("|".join(f"(?:{d})" for d in said["designators"]))


@cache
def vocabulary() -> frozenset[str]:
    """Words of sanpath's own files: what its messages are made of. A name that is no such word is somebody's."""
    found: set[str] = set()
    for package in ("sanpath", "sanpath_collectors", "sanpath_rules"):
        _read(files(package), found)
    return frozenset(found)


def _read(folder: Traversable, found: set[str]) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            _read(entry, found)
        elif entry.name.endswith((".py", ".yaml")):
            found.update(re.findall("[a-z]{2,}", entry.read_text(encoding="utf-8").lower()))


class Pseudonyms:
    """Takes every text of a recording first (`name`, `sentence`), then gives what stands in its place (`of`)."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = defaultdict(set)
        self._words: dict[str, set[str]] = defaultdict(set)
        # Class (of which only the length counts) → originals; and, once `settle` was called, → their places in order.
        self._pieces: dict[tuple[str, int], set[str]] = defaultdict(set)
        self._places: dict[tuple[str, int], dict[str, int]] = {}
        self._new: dict[str, str] = {}

    def name(self, text: str) -> None:
        """Take what somebody has named."""
        self._take(text, self._names)

    def sentence(self, text: str) -> None:
        """Take what a program has written; what it quotes was named by somebody."""
        self._take(text, self._words)
        for quoted in _QUOTED.findall(text):
            self._take(quoted, self._names)

    def settle(self) -> None:
        """All has been taken: give out the pseudonyms."""
        self._places = {
            kind: {one: n for n, one in enumerate(sorted(found), 1)} for kind, found in self._pieces.items()
        }
        for word, spelled in self._words.items():
            if word in self._names or word not in vocabulary():
                self._names[word] |= spelled
        width = len(str(len(self._names)))
        for number, (word, spelled) in enumerate(sorted(self._names.items()), 1):
            self._new |= _spellings(word, spelled, f"{number:0{width}d}")

    def of(self, text: str) -> str:
        """The text with pseudonyms for all that is not public. What was never taken is left as it is."""
        return "/".join(_TOKEN.sub(self._replaced, part) for part in text.split("/"))

    def of_product(self, text: str) -> str:
        """The same for what programs and products call things: only names and addresses that were taken elsewhere are
        replaced, and no word of sanpath's own, which may be what a rule looks for."""
        return "/".join(_TOKEN.sub(self._replaced_in_product, part) for part in text.split("/"))

    def key(self) -> dict[str, str]:
        """Pseudonym → what it stands for: a word, an address, or a piece of an identifier."""
        pieces = {self._piece(*kind, one): one for kind, found in self._places.items() for one in found}
        return pieces | {new: old for old, new in self._new.items()}

    def _take(self, text: str, words: dict[str, set[str]]) -> None:
        def take(kind: str, size: int, piece: str) -> str:
            self._pieces[kind, size].add(piece)
            return piece

        for part in text.split("/"):
            for token in _TOKEN.finditer(part):
                for word in _words(token):
                    if _in_pieces(word, take) is None and not _is_public(word):
                        words[word.lower()].add(word)

    def _replaced(self, token: re.Match[str]) -> str:
        if token.lastgroup == "word" or (token.lastgroup == "ipv6" and _ip(token[0]) is None):
            return re.sub(_WORD, lambda word: self._word(word[0]), token[0])
        return self._word(token[0])

    def _replaced_in_product(self, token: re.Match[str]) -> str:
        return token[0] if token[0].lower() in vocabulary() else self._replaced(token)

    def _word(self, word: str) -> str:
        known = _in_pieces(word, self._piece) or self._new.get(word)
        # A name may be written in other capitals in what was never taken.
        return known or self._new.get(word.lower(), word)

    def _piece(self, kind: str, size: int, piece: str) -> str:
        place = self._places.get((kind, size), {}).get(piece)
        if place is None:
            return piece
        if kind == "ipv4":
            return str(ipaddress.IPv4Address("10.0.0.0") + place)
        if kind == "ipv6":
            return str(ipaddress.IPv6Address("fd00::") + place)
        # The first digit shows whoever reads it that this is a pseudonym.
        return f"9{place:0{size - 1}d}" if kind == "digits" else f"a{place:0{size - 1}x}"


def _words(token: re.Match[str]) -> list[str]:
    """What a token consists of: itself, but for what only looks like an address. Times and numbers are public."""
    if token.lastgroup in ("time", "number"):
        return []
    is_one = token.lastgroup != "ipv6" or _ip(token[0]) is not None
    return [token[0]] if is_one else re.findall(_WORD, token[0])


def _is_public(word: str) -> bool:
    words, designators = _public()
    return word.lower() in words or designators.fullmatch(word.lower()) is not None


def _spellings(word: str, spelled: Iterable[str], number: str) -> dict[str, str]:
    """Spelled word → pseudonym. Names that differ in capitals only go on doing so, and are one where capitals do not
    count."""
    found = {word: _LETTERS + number, word.upper(): _LETTERS.upper() + number}
    for count, other in enumerate(sorted(set(spelled) - found.keys())):
        bits = _CAPITALS[count % len(_CAPITALS)]
        mixed = "".join(c.upper() if bits & (8 >> n) else c for n, c in enumerate(_LETTERS))
        found[other] = mixed + number + "x" * (count // 14)
    return found


_Piece = Callable[[str, int, str], str]
"""(class, digits, piece) → what stands for the piece."""


def _in_pieces(word: str, piece: _Piece) -> str | None:
    """An address, identifier or long number with its pieces replaced. None: it is none of them."""
    separated = _SEPARATED.fullmatch(word)
    if separated is None and (address := _ip(word)) is not None:
        kept = address.is_loopback or address.is_unspecified or str(address) == "255.255.255.255"
        return word if kept else piece(f"ipv{address.version}", 0, str(address))
    found = _HEX_DIGITS.fullmatch(re.sub("[:.-]", "", word) if separated else word)
    if found is None:
        return piece("digits", len(word), word) if _LONG_NUMBER.fullmatch(word) else None
    new = _identifier(found["digits"].lower(), piece)
    if any(c.isupper() for c in found["digits"]):
        new = new.upper()
    told = iter((found["prefix"] or "") + new)
    return "".join(c if c in ":.-" else next(told) for c in word)


def _identifier(digits: str, piece: _Piece) -> str:
    """The digits of a world wide name, MAC address, NAA or NGUID identifier or serial number with the device's own
    replaced.

    NAA 1 and 2: 10 digits of port and vendor, 6 of the device; NAA 5: 7 of the vendor, 9 of the device, the last 2 of
    its port (T11 FC-FS, T10 SPC). NAA 6: 8 of the vendor, 24 of array and volume. NGUID: vendor in digits 17 to 22
    (NVMe base specification), device around it. A serial number of 24 is the tail of the one and in the other.
    """
    if not digits.strip("0"):
        return digits

    def own(part: str) -> str:
        return piece("hex", len(part), part)

    def tail(part: str) -> str:
        return own(part[:14]) + own(part[14:])

    if len(digits) in (17, 33) and digits[0] == "3":  # a WWID of Linux: the type before the identifier
        return digits[0] + _identifier(digits[1:], piece)
    if len(digits) == 12:
        return digits[:6] + own(digits[6:])
    if len(digits) == 16 and digits[0] in "12":
        return digits[:10] + own(digits[10:])
    if len(digits) == 16 and digits[0] == "5":
        return digits[:7] + own(digits[7:14]) + digits[14:]
    if len(digits) == 24:
        return tail(digits)
    if len(digits) == 32 and digits[0] == "6":
        return digits[:8] + tail(digits[8:])
    if len(digits) == 32 and digits[:2] == "00":
        return digits[:2] + own(digits[2:16]) + digits[16:22] + own(digits[22:])
    return own(digits)


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text) if "." in text or ":" in text else None
    except ValueError:
        return None
