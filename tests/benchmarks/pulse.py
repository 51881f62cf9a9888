"""What a pulse of the live view costs, by the number of links: CPU time, every port cabled and polled each second.

A pulse is all that happens between two seconds: the rows of a poll are taken from the recorder's line, what happens
now is computed, and the lines of the screen are made. Beside it, what handing over costs the recorder.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from sanpath.facts.samples.counters import PORT_SPEED
from sanpath.model import Event, Rows
from sanpath.pulse.link_counters import Port, WiredLink
from sanpath.pulse.newest import Newest, select_needed_columns
from sanpath.pulse.pulses import Pulses
from sanpath.recording.viewer_protocol import decoded, encoded
from sanpath.views.live.cursor import Cursor
from sanpath.views.live.pages.now import Now
from sanpath.views.live.reading.shown_verdict import DebouncedVerdict, verdict_of
from sanpath.views.live.screenful import Painter
from sanpath_collectors.fio.tables import LOAD
from sanpath_collectors.snmp_switch.tables import SWITCH_PORT
from tests.benchmarks.rounds import interleaved, spread
from tests.views.live.made import diagnosis, snapshot

GOALS_SECONDS = {200: 0.010, 5_000: 0.025}
ROUNDS = 20
SIZE = 160, 48
COUNTERS = ("bytes_tx_total", "bytes_rx_total")
_US = 1_000_000


def measure() -> str:
    """Two lines a size."""
    lines = []
    for ports, goal_seconds in GOALS_SECONDS.items():
        recorder, viewer = Recorded(ports), Watched(ports)
        handed, pulses = interleaved(
            ROUNDS, recorder.cpu_seconds, lambda r=recorder, v=viewer: v.cpu_seconds(r.reported)
        )
        goal = f"(goal {1e3 * goal_seconds:.0f} ms)"
        drawn = f"of these {spread(viewer.drawn, 1e3, 'ms')} for the lines of a screen of {SIZE[0]} by {SIZE[1]}"
        lines.append(f"{ports:,} links: {spread(pulses, 1e3, 'ms')} a pulse {goal}, {drawn}")
        lines.append(f"{ports:,} links: {spread(handed, 1e3, 'ms')} of the recorder to hand a poll over")
    return "".join(f"\n  {line}" for line in lines)


class Recorded:
    """A recorder that polls so many ports and a load each second; `said`: the lines that it handed over last."""

    def __init__(self, ports: int) -> None:
        self._ports, self._second = [f"port{number:06d}" for number in range(ports)], 0
        self.reported: list[bytes] = []

    def cpu_seconds(self) -> float:
        """Of one poll to be handed over."""
        self._second += 1
        moved = [self._second * 1_000_003 * (1 + number % 97) for number in range(len(self._ports))]
        values: dict[str, Sequence[int | float | None]] = {c.metric: moved for c in SWITCH_PORT.columns}
        values[PORT_SPEED] = [8e3] * len(moved)  # As agents say it, in Mb/s.
        rows = Rows(SWITCH_PORT, self._ports, [self._second * _US] * len(moved), values)
        done = [self._second * 1000]
        load = Rows(LOAD, ["job"], [self._second * _US], {c.metric: done for c in LOAD.columns})
        begun = Event(_US, "step-begin", {"step": "t64", "group": 0, "loads": "job"})
        return _cpu(lambda: self._hand(begun, load, rows))

    def _hand(self, begun: Event, load: Rows, rows: Rows) -> None:
        self.reported = [
            encoded(("fio", begun)),
            encoded(("fio", load)),
            encoded(("sw", select_needed_columns(rows))),
        ]


class Watched:
    """A viewer of it, whose screen has a verdict; `drawn`: seconds for its lines."""

    def __init__(self, ports: int) -> None:
        self._newest = Newest()
        self._pulses = Pulses(self._newest)
        self._wiring = [
            WiredLink(f"link:host--sw/{n}", "fibre_channel", (Port("sw", f"port{n:06d}", *COUNTERS),))
            for n in range(ports)
        ]
        self._look = snapshot(diagnosis())
        self._steady = DebouncedVerdict().update(verdict_of(diagnosis(), Cursor()))
        self.drawn: list[float] = []
        self._second = 1

    def cpu_seconds(self, reported: list[bytes]) -> float:
        """Of one pulse."""
        self._second += 1
        return _cpu(lambda: self._beat(reported))

    def _beat(self, reported: list[bytes]) -> None:
        for line in reported:
            result = decoded(line)
            assert isinstance(result, tuple)
            self._newest.take(*result)
        pulse = self._pulses.pulse(self._second * _US, 0, [], self._wiring)
        self.drawn.append(
            _cpu(lambda: Painter().screenful(self._look, Cursor(), self._steady, *SIZE, Now(pulse, 1.0)) and None)
        )


def _cpu(work: Callable[[], None]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began
