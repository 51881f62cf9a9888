"""vdbench's parameter language, as far as it says how hard and with what a run loads what.

sd=default,openflags=o_direct
sd=sd1,lun=/dev/sdb,threads=16
wd=wd1,sd=sd*,xfersize=4k,rdpct=75,seekpct=100
rd=rd1,wd=wd*,iorate=max,elapsed=60,interval=1
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from sanpath_collectors.vdbench.parse import number, ratio, size_bytes
from sanpath_collectors.vdbench.told import Told

_THREADS = 8.0
"""I/Os in flight on an SD whose threads= is not told (vdbench user guide, "threads=")."""
_MOST_STATEMENTS = 100_000
_KEYS = (
    *("sd", "wd", "rd", "fsd", "fwd", "hd", "host", "lun", "size", "range", "count", "openflags", "threads"),
    *("xfersize", "rdpct", "seekpct", "skew", "iorate", "fwdrate", "elapsed", "interval", "warmup", "operation"),
    *("forthreads", "forxfersize", "forrdpct", "forseekpct"),
)
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}

Words = Mapping[str, str]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plan:
    """A run definition. `in_flight`: I/Os it keeps in flight, None: it loops over several numbers, or works on
    files."""

    told: Told
    in_flight: float | None


class Parameters:
    """The statements of one parameter file."""

    def __init__(self) -> None:
        self.included = False
        self._begun = ""
        self._statements = 0
        self._defined: dict[str, dict[str, dict[str, str]]] = {kind: {} for kind in ("sd", "wd", "rd", "fsd", "fwd")}
        self._defaults: dict[str, dict[str, str]] = {}

    def add(self, line: str) -> None:
        """The next line. What follows a blank is a remark; a comma at the end continues on the next line."""
        text = line.strip()
        if not text or text[0] in "*#/<" or self._statements >= _MOST_STATEMENTS:
            return
        self._begun += text.split()[0]
        if self._begun.endswith(",") and len(self._begun) < 1 << 20:
            return
        statement, self._begun = self._begun, ""
        self._statements += 1
        self._define(statement)

    def plans(self) -> dict[str, Plan]:
        """Run definition → what it was told."""
        return {name: self._plan(words) for name, words in self._defined["rd"].items()}

    def _define(self, statement: str) -> None:
        pairs = [_pair(word) for word in _split(statement)]
        kind, name = pairs[0]
        self.included |= kind == "include"
        if kind not in self._defined:
            return
        words = self._defaults.get(kind, {}) | dict(pairs[1:])
        if name == "default":
            self._defaults[kind] = words
            return
        for each in _counted(name, words.get("count")):
            self._defined[kind][each] = words

    def _plan(self, rd: Words) -> Plan:
        if "fwd" in rd:
            works, storages = self._chosen("fwd", rd["fwd"]), {}
        else:
            works = self._chosen("wd", rd.get("wd", ""))
            chosen = [rd["sd"]] if "sd" in rd else [work.get("sd", "sd*") for work in works.values()]
            storages = {name: sd for text in chosen for name, sd in self._chosen("sd", text).items()}
        files = "fwd" in rd
        limit = rd.get("fwdrate" if files else "iorate", "max").lower()
        sizes = [size_bytes(sd.get("size", "")) for sd in storages.values()]
        whole = None not in sizes and not any("range" in words for words in (*works.values(), *storages.values()))
        threads = [_threads(rd, sd) for sd in storages.values()]
        told = Told(
            threads=_same(threads),
            storages=len(storages) or None,
            files=files,
            block_bytes=_same(size_bytes(text) for text in _texts("xfersize", rd, works)),
            read_ratio=_same(_reads(work, rd) for work in works.values()),
            random_ratio=_same(_random(text) for text in _texts("seekpct", rd, works)),
            working_set_bytes=sum(size or 0.0 for size in sizes) or None if whole else None,
            direct=True if storages and all(_direct(sd) for sd in storages.values()) else None,
            limited=limit != "max",
            requested=number(limit),
            seconds=_seconds(rd.get("elapsed", "")),
            warmup_seconds=_seconds(rd.get("warmup", "")),
        )
        known = [each for each in threads if each is not None]
        return Plan(told, sum(known) if known and len(known) == len(threads) else None)

    def _chosen(self, kind: str, text: str) -> dict[str, dict[str, str]]:
        wanted = [re.compile(".*".join(map(re.escape, name.split("*")))) for name in _names(text)]
        return {n: w for n, w in self._defined[kind].items() if any(pattern.fullmatch(n) for pattern in wanted)}


def _split(statement: str) -> list[str]:
    """At the commas outside of parentheses."""
    words, depth = [""], 0
    for character in statement:
        depth += (character == "(") - (character == ")")
        if character == "," and depth <= 0:
            words.append("")
        else:
            words[-1] += character
    return words


def _pair(word: str) -> tuple[str, str]:
    """Key and value; a key may be cut short as long as it is clear which it is."""
    key, _, value = word.partition("=")
    key = key.lower()
    meant = [known for known in _KEYS if len(key) > 1 and known.startswith(key)]
    return meant[0] if key not in _KEYS and len(meant) == 1 else key, value.strip('"')


def _names(text: str) -> Iterator[str]:
    """`(sd1,sd5-sd7)` → sd1, sd5, sd6, sd7."""
    for part in text.strip("()").split(","):
        span = re.fullmatch(r"(\D+)(\d{1,6})-(?:\1)?(\d{1,6})", part)
        if span is None or int(span[3]) - int(span[2]) > 10_000:
            yield part
        else:
            yield from (f"{span[1]}{number}" for number in range(int(span[2]), int(span[3]) + 1))


def _counted(name: str, count: str | None) -> Iterator[str]:
    """`sd=sd,count=(1,8)` defines sd1 to sd8."""
    span = re.fullmatch(r"\((\d{1,6}),(\d{1,4})\)", count or "")
    if span is None:
        yield from _names(name)
    else:
        yield from (f"{name}{int(span[1]) + number}" for number in range(int(span[2])))


def _texts(key: str, rd: Words, works: Mapping[str, Words]) -> list[str]:
    """What each workload is told; what the run itself says goes before."""
    over = rd.get(key, rd.get(f"for{key}"))
    return [over if over is not None else work.get(key, "") for work in works.values()]


def _same(values: Iterable[T | None]) -> T | None:
    """The one value that all have. None: they differ, or one is not known."""
    found = set(values)
    return found.pop() if len(found) == 1 else None


def _threads(rd: Words, sd: Words) -> float | None:
    """None: the run is repeated with several numbers."""
    text = rd.get("threads", rd.get("forthreads", sd.get("threads")))
    return _THREADS if text is None else number(text.strip("()"))


def _reads(work: Words, rd: Words) -> float | None:
    told = rd.get("rdpct", rd.get("forrdpct", work.get("rdpct")))
    if told is None:
        return {"read": 1.0, "write": 0.0}.get(work.get("operation", ""))
    return ratio(number(told))


def _random(text: str) -> float | None:
    """`seekpct=100` and `random` are random, `seq`, `seqnz` and `eof` are not."""
    words = {"seq": 0.0, "seqnz": 0.0, "sequential": 0.0, "eof": 0.0, "rand": 1.0, "random": 1.0}
    return words.get(text, ratio(number(text)))


def _direct(sd: Words) -> bool:
    return re.search(r"o_direct|directio", sd.get("openflags", "").lower()) is not None


def _seconds(text: str) -> float | None:
    """`60`, `90s`, `10m`, `2h` → seconds."""
    unit = _SECONDS.get(text[-1:].lower())
    told = number(text if unit is None else text[:-1])
    return None if told is None else told * (unit or 1.0)
