"""Remarks for people about the figures of a server; each remark is made once. No I/O."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.plugin import Event, name_list, warning

_SCRAPES_PER_STEP = 5
"""Scrape intervals in a load step that contain four complete windows, whatever their phase."""
_ABOVE_LINE_RATE = 1.05
"""Ratio of throughput to speed above which the speed, or its unit, is wrong."""
_NOMINAL_GIGABITS = (0.1, 1, 2, 2.5, 4, 5, 8, 10, 16, 20, 25, 32, 40, 50, 56, 64, 80, 100, 128, 200, 400, 800)
"""Speeds of ports (FC-PI, IEEE 802.3, and bonds of two)."""
_MAX_NAMED = 4


class Remarks:
    """Collects remarks about one exporter until `events` is called. `title`: the name of the exporter."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._reported: set[tuple[str, str]] = set()
        self._pending: list[tuple[str, str]] = []

    def add(self, code: str, text: str, subject: str = "") -> None:
        """Add a remark unless it was made before. `subject`: allows one remark per code and subject; "": per text."""
        if (code, subject or text) not in self._reported:
            self._reported.add((code, subject or text))
            self._pending.append((code, f"{self._title}: {text}"))

    def events(self, seen_us: int) -> Iterator[Event]:
        """Yield the remarks since the last call."""
        pending, self._pending = self._pending, []
        for code, text in pending:
            yield warning(seen_us, code, text)

    def spacing(self, device: str, seconds: float, step_seconds: float) -> None:
        """Check the scrape interval of a device."""
        if seconds * _SCRAPES_PER_STEP > step_seconds:
            self.add(
                "scrape-interval",
                f"{device} is scraped every {seconds:g} s: a load step has to last {seconds * _SCRAPES_PER_STEP:g} s "
                f"to hold four whole windows, and the shortest lasts {step_seconds:g} s",
                subject=device,
            )

    def averaged(self, seconds: float, step_seconds: float) -> None:
        """Check the time covered by the values of an exporter."""
        if seconds > step_seconds:
            self.add(
                "long-averages",
                f"its values are means that began up to {seconds:g} s before they are scraped: none of them is of a "
                f"load step of {step_seconds:g} s alone",
            )

    def cached(self, device: str, kind: str, seconds: float, step_seconds: float) -> None:
        """Remark that an exporter repeats its values between updates that are this many seconds apart."""
        needed = seconds * _SCRAPES_PER_STEP
        advice = f": a load step has to last {needed:g} s to hold four of them" if needed > step_seconds else ""
        self.add(
            "values-held",
            f"{device} has new values of its {kind}s every {seconds:g} s only and repeats them in between{advice}",
            subject=f"{device} {kind}",
        )

    def duplicates(self, metric: str, entity: str, series: list[str]) -> None:
        """Remark that several series have the same metric of one entity."""
        self.add(
            "duplicate-series",
            f"{len(series)} series report {metric} of {entity}, the first of them is read: "
            f"{name_list(series, _MAX_NAMED, '; ')}; match can leave out the others",
            subject=metric,
        )

    def throughput(self, entity: str, bytes_per_second: float, bits_per_second: float | None) -> None:
        """Check the measured throughput of a port against its reported speed."""
        if bits_per_second and bytes_per_second * 8 > bits_per_second * _ABOVE_LINE_RATE:
            measured, limit = (f"{bits / 1e9:.3g} Gb/s" for bits in (bytes_per_second * 8, bits_per_second))
            text = f"{entity} carried {measured} on a link of {limit}: its bytes may be bits, or its speed is wrong"
            self.add("wrong-unit", text, subject=entity)

    def speed(self, entity: str, reported: float) -> float | None:
        """Return the speed of a port in bits per second, reported in bits, bytes or gigabits. None: it is 0."""
        if reported <= 0:
            return None
        if reported < 1000:  # no port is slower than 1,000 bit/s
            return reported * 1e9
        if not _is_nominal(reported) and _is_nominal(reported * 8):
            self.add(
                "wrong-unit", f"the speed of {entity}, {reported:.10g}, is taken for bytes a second", subject="speed"
            )
            return reported * 8
        return reported


def _is_nominal(bits_per_second: float) -> bool:
    return any(abs(bits_per_second / (gigabits * 1e9) - 1) < 1e-3 for gigabits in _NOMINAL_GIGABITS)
