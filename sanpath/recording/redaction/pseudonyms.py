"""Pseudonyms for names and addresses: consistent, in the original order, and with their relations intact.

A text is split into words, and every word that is not public is replaced. Equal names of two sources stay equal,
`array/volume` still begins with `array`, and sorted names stay sorted. World wide names retain the vendor and port
digits of their standards. The digits of the device are replaced in pieces, so that a volume's serial number is still
the end of its NAA identifier, and a port's name still contains that of its node.
"""

from __future__ import annotations

import ipaddress
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from sanpath.catalogue import catalogue

_WORD = r"[A-Za-z0-9\u0080-\U0010ffff]+"
_HEX = "[0-9A-Fa-f]"
_WORD_BOUNDARIES = r"(?<![A-Za-z0-9\u0080-\U0010ffff])", r"(?![A-Za-z0-9\u0080-\U0010ffff])"
_TOKEN = re.compile(
    _WORD_BOUNDARIES[0]
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
    + _WORD_BOUNDARIES[1]
)
_QUOTED = re.compile(r'"[^"]*"|\'[^\']*\'')
_HEX_DIGITS = re.compile(rf"(?P<prefix>0[xX])?(?P<digits>{_HEX}{{12,}})")
_SEPARATED = re.compile(
    rf"{_HEX}{{2}}(?:([:.-]){_HEX}{{2}})(?:\1{_HEX}{{2}}){{4,}}|{_HEX}{{4}}(?:([.-]){_HEX}{{4}})(?:\2{_HEX}{{4}})+"
)
_LONG_NUMBER = re.compile(r"\d{6,}")
_LETTERS = "name"
_CAPITALS = (8, 4, 2, 1, 12, 10, 9, 6, 5, 3, 14, 13, 11, 7)
"""Patterns of capital letters as bits: every mixture except none and all."""


@cache
def _public() -> tuple[frozenset[str], re.Pattern[str]]:
    public = catalogue.public()
    return frozenset(public["words"]), re.compile(
        "|".join(f"(?:{designator})" for designator in public["designators"])
    )


@cache
def vocabulary() -> frozenset[str]:
    """Return the words of sanpath's own files, which its messages consist of. Any other word is private."""
    words: set[str] = set()
    for package in ("sanpath", "sanpath_collectors", "sanpath_rules"):
        _add_words(files(package), words)
    return frozenset(words)


def _add_words(folder: Traversable, words: set[str]) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            _add_words(entry, words)
        elif entry.name.endswith((".py", ".yaml")):
            words.update(re.findall("[a-z]{2,}", entry.read_text(encoding="utf-8").lower()))


class Pseudonyms:
    """Collects all texts of a recording (`name`, `sentence`), then replaces them (`pseudonymise`)."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = defaultdict(set)
        self._words: dict[str, set[str]] = defaultdict(set)
        # (class, length) → originals; after `assign` → original → its position in the order.
        self._pieces: dict[tuple[str, int], set[str]] = defaultdict(set)
        self._places: dict[tuple[str, int], dict[str, int]] = {}
        self._new: dict[str, str] = {}

    def name(self, text: str) -> None:
        """Collect a name that a person chose."""
        self._take(text, self._names)

    def sentence(self, text: str) -> None:
        """Collect a sentence that a program wrote; quoted words in it are names that a person chose."""
        self._take(text, self._words)
        for quoted in _QUOTED.findall(text):
            self._take(quoted, self._names)

    def assign(self) -> None:
        """Assign the pseudonyms, after all texts have been collected."""
        self._places = {
            kind: {original: number for number, original in enumerate(sorted(originals), 1)}
            for kind, originals in self._pieces.items()
        }
        for word, spelled in self._words.items():
            if word in self._names or word not in vocabulary():
                self._names[word] |= spelled
        width = len(str(len(self._names)))
        for number, (word, spelled) in enumerate(sorted(self._names.items()), 1):
            self._new |= _spellings(word, spelled, f"{number:0{width}d}")

    def pseudonymise(self, text: str) -> str:
        """Return the text with pseudonyms for everything that is not public. Uncollected words are unchanged."""
        return "/".join(_TOKEN.sub(self._replace, segment) for segment in text.split("/"))

    def pseudonymise_product(self, text: str) -> str:
        """Return a text of a program or product with pseudonyms.

        Only names and addresses that were collected elsewhere are replaced, and no word of sanpath's own files: a
        rule may depend on it.
        """
        return "/".join(_TOKEN.sub(self._replace_in_product, segment) for segment in text.split("/"))

    def key(self) -> dict[str, str]:
        """Return pseudonym → original: a word, an address, or a piece of an identifier."""
        pieces = {
            self._piece(*kind, original): original
            for kind, originals in self._places.items()
            for original in originals
        }
        return pieces | {new: old for old, new in self._new.items()}

    def _take(self, text: str, words: dict[str, set[str]]) -> None:
        def take(kind: str, size: int, piece: str) -> str:
            self._pieces[kind, size].add(piece)
            return piece

        for segment in text.split("/"):
            for token in _TOKEN.finditer(segment):
                for word in _words(token):
                    if _replace_pieces(word, take) is None and not _is_public(word):
                        words[word.lower()].add(word)

    def _replace(self, token: re.Match[str]) -> str:
        if token.lastgroup == "word" or (token.lastgroup == "ipv6" and _ip(token[0]) is None):
            return re.sub(_WORD, lambda word: self._word(word[0]), token[0])
        return self._word(token[0])

    def _replace_in_product(self, token: re.Match[str]) -> str:
        return token[0] if token[0].lower() in vocabulary() else self._replace(token)

    def _word(self, word: str) -> str:
        pseudonym = _replace_pieces(word, self._piece) or self._new.get(word)
        # Uncollected texts may contain a name with other capitals.
        return pseudonym or self._new.get(word.lower(), word)

    def _piece(self, kind: str, size: int, piece: str) -> str:
        place = self._places.get((kind, size), {}).get(piece)
        if place is None:
            return piece
        if kind == "ipv4":
            return str(ipaddress.IPv4Address("10.0.0.0") + place)
        if kind == "ipv6":
            return str(ipaddress.IPv6Address("fd00::") + place)
        # The first digit marks it as a pseudonym.
        return f"9{place:0{size - 1}d}" if kind == "digits" else f"a{place:0{size - 1}x}"


def _words(token: re.Match[str]) -> list[str]:
    """Return the words of a token; the token itself is one if it is an address. Times and numbers are public."""
    if token.lastgroup in ("time", "number"):
        return []
    is_single = token.lastgroup != "ipv6" or _ip(token[0]) is not None
    return [token[0]] if is_single else re.findall(_WORD, token[0])


def _is_public(word: str) -> bool:
    words, designators = _public()
    return word.lower() in words or designators.fullmatch(word.lower()) is not None


def _spellings(word: str, spelled: Iterable[str], number: str) -> dict[str, str]:
    """Return spelling → pseudonym.

    Spellings that differ only in capitals get pseudonyms that differ only in capitals.
    """
    pseudonyms = {word: _LETTERS + number, word.upper(): _LETTERS.upper() + number}
    for count, spelling in enumerate(sorted(set(spelled) - pseudonyms.keys())):
        bits = _CAPITALS[count % len(_CAPITALS)]
        mixed = "".join(
            letter.upper() if bits & (8 >> position) else letter for position, letter in enumerate(_LETTERS)
        )
        pseudonyms[spelling] = mixed + number + "x" * (count // 14)
    return pseudonyms


_Piece = Callable[[str, int, str], str]
"""(class, digits, piece) → replacement of the piece."""


def _replace_pieces(word: str, piece: _Piece) -> str | None:
    """Return an address, identifier or long number with its pieces replaced. None: the text is none of these."""
    separated = _SEPARATED.fullmatch(word)
    if separated is None and (address := _ip(word)) is not None:
        is_public = address.is_loopback or address.is_unspecified or str(address) == "255.255.255.255"
        return word if is_public else piece(f"ipv{address.version}", 0, str(address))
    match = _HEX_DIGITS.fullmatch(re.sub("[:.-]", "", word) if separated else word)
    if match is None:
        return piece("digits", len(word), word) if _LONG_NUMBER.fullmatch(word) else None
    new = _replace_identifier(match["digits"].lower(), piece)
    if any(character.isupper() for character in match["digits"]):
        new = new.upper()
    replaced = iter((match["prefix"] or "") + new)
    return "".join(character if character in ":.-" else next(replaced) for character in word)


def _replace_identifier(digits: str, piece: _Piece) -> str:
    """Return the digits of a WWN, MAC address, NAA or NGUID identifier or serial number, with device digits replaced.

    NAA 1 and 2: 10 digits of port and vendor, 6 of the device; NAA 5: 7 of the vendor, 9 of the device, the last 2 of
    its port (T11 FC-FS, T10 SPC). NAA 6: 8 of the vendor, 24 of array and volume. NGUID: vendor in digits 17 to 22
    (NVMe base specification), device around it. A serial number of 24 digits is the end of an NAA 6
    identifier and part of an NGUID.
    """
    if not digits.strip("0"):
        return digits

    def device(group: str) -> str:
        return piece("hex", len(group), group)

    def tail(group: str) -> str:
        return device(group[:14]) + device(group[14:])

    if len(digits) in (17, 33) and digits[0] == "3":  # a WWID of Linux: a type digit before the identifier
        return digits[0] + _replace_identifier(digits[1:], piece)
    if len(digits) == 12:
        return digits[:6] + device(digits[6:])
    if len(digits) == 16 and digits[0] in "12":
        return digits[:10] + device(digits[10:])
    if len(digits) == 16 and digits[0] == "5":
        return digits[:7] + device(digits[7:14]) + digits[14:]
    if len(digits) == 24:
        return tail(digits)
    if len(digits) == 32 and digits[0] == "6":
        return digits[:8] + tail(digits[8:])
    if len(digits) == 32 and digits[:2] == "00":
        return digits[:2] + device(digits[2:16]) + digits[16:22] + device(digits[22:])
    return device(digits)


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text) if "." in text or ":" in text else None
    except ValueError:
        return None
