"""What a person should know of the figures that a server gave; each thing is said once. No I/O."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.plugin import Event, warning

_WINDOWS = 5
"""Scrapes that a load step has to last for four whole windows between them, wherever they fall."""
_ABOVE_LINE_RATE = 1.05
_NOMINAL_GIGABITS = (0.1, 1, 2, 2.5, 4, 5, 8, 10, 16, 20, 25, 32, 40, 50, 56, 64, 80, 100, 128, 200, 400, 800)
"""Speeds of ports (FC-PI, IEEE 802.3, and bonds of two)."""
_NAMED = 4


class Doubts:
    """Collects doubts of one exporter until they are asked for. `title`: what it is called."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._said: set[tuple[str, str]] = set()
        self._waiting: list[tuple[str, str]] = []

    def say(self, code: str, text: str, about: str = "") -> None:
        """Something to be told, unless it was before. `about`: of what it is told once, "": of its text."""
        if (code, about or text) not in self._said:
            self._said.add((code, about or text))
            self._waiting.append((code, f"{self._title}: {text}"))

    def events(self, seen: int) -> Iterator[Event]:
        """What has not been told yet."""
        waiting, self._waiting = self._waiting, []
        for code, text in waiting:
            yield warning(seen, code, text)

    def spacing(self, device: str, seconds: float, step_seconds: float) -> None:
        """How often a device is scraped."""
        if seconds * _WINDOWS > step_seconds:
            self.say(
                "scrape-interval",
                f"{device} is scraped every {seconds:g} s: a load step has to last {seconds * _WINDOWS:g} s to hold "
                f"four whole windows, and the shortest lasts {step_seconds:g} s",
                about=device,
            )

    def duplicates(self, metric: str, entity: str, series: list[str]) -> None:
        """Several series tell the same."""
        more = f" and {len(series) - _NAMED} more" if len(series) > _NAMED else ""
        self.say(
            "duplicate-series",
            f"{len(series)} series tell {metric} of {entity}, the first of them is read: "
            f"{'; '.join(series[:_NAMED])}{more}; match can leave out the others",
            about=metric,
        )

    def throughput(self, entity: str, bytes_per_second: float, bits_per_second: float | None) -> None:
        """What a port carried, and the speed it says that it has."""
        if bits_per_second and bytes_per_second * 8 > bits_per_second * _ABOVE_LINE_RATE:
            carried, limit = (f"{bits / 1e9:.3g} Gb/s" for bits in (bytes_per_second * 8, bits_per_second))
            text = f"{entity} carried {carried} on a link of {limit}: its bytes may be bits, or its speed is wrong"
            self.say("wrong-unit", text, about=entity)

    def speed(self, entity: str, told: float) -> float | None:
        """Bits a second of a port that told its speed in bits, bytes or gigabits. None: it told 0."""
        if told <= 0:
            return None
        if told < 1000:  # no port is slower than 1,000 bit/s
            return told * 1e9
        if not _is_nominal(told) and _is_nominal(told * 8):
            self.say("wrong-unit", f"the speed of {entity}, {told:.10g}, is taken for bytes a second", about="speed")
            return told * 8
        return told


def _is_nominal(bits_per_second: float) -> bool:
    return any(abs(bits_per_second / (gigabits * 1e9) - 1) < 1e-3 for gigabits in _NOMINAL_GIGABITS)
