"""Status documents as fio prints them, shortened to what is read; and what a reader says, sorted for assertions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sanpath.model import Scalar
from sanpath.plugin import CollectorError, Event, Item, ResultClock, Rows, SourceEntity, SourceLink
from sanpath.recorder.importing.files.imported_file import ImportedFile
from sanpath_collectors.fio.reader import FioResult

SECOND = 1_000_000
START = 1_800_000_000 * SECOND
DIRECTIONS = ("read", "write")


def direction(
    ops: int, runtime_ms: int = 0, *, block: int = 4096, mean: float = 5.0, ramp: bool = False
) -> dict[str, Any]:
    """Reads or writes; fio counts no latencies during the ramp."""
    latency: dict[str, Any] = {"min": 1, "max": 9, "mean": 0.0 if ramp or not ops else mean, "N": 0 if ramp else ops}
    latency["percentile"] = {"99.000000": 8}
    return {"total_ios": ops, "io_bytes": block * ops, "runtime": runtime_ms, "lat_ns": latency}


def job(name: str, group: int, ops: int, runtime_ms: int = 0, **options: str) -> dict[str, Any]:
    """A job that reads."""
    body = {"jobname": name, "groupid": group, "error": 0, "job options": options}
    return body | {"read": direction(ops, runtime_ms), "write": direction(0), "usr_cpu": 1.0, "sys_cpu": 2.0}


def document(at: float, *jobs: dict[str, Any], **keys: Any) -> bytes:
    """A document that was written so many seconds after START."""
    moment = {"timestamp_ms": round((START / 1000) + at * 1000)}
    body = {"fio version": "fio-3.33", **moment, "jobs": list(jobs), **keys}
    return json.dumps(body, indent=2).encode() + b"\n"


def client_document(*entries: dict[str, Any]) -> bytes:
    """The document of fio --client."""
    body = {"fio version": "fio-3.33", "timestamp": START // 1_000_000 + 4, "client_stats": list(entries)}
    return b"\n" + json.dumps(body, indent=2).encode() + b"\n"


def terse(
    ops: int, runtime_ms: int, disks: str = "", name: str = "a", block: int = 4096, depths: str = "0%;" * 7
) -> bytes:
    """A line of a job that reads, each I/O in 100 us. `depths`: shares of the depths 1, 2, 4, ... 64."""
    iops = 1000 * ops // runtime_ms
    latency = ";".join(
        ["1;2;2.0;1.0", "1;198;98.0;1.0", ";".join([f"{p}.000000%={p}" for p in range(80, 100)]), "1;200;100.0;1.0"]
    )
    read = f"{ops * block // 1024};0;{iops};{runtime_ms};{latency};0;0;0%;0;0"
    rest = ";".join(["0"] * 41)
    return f"3;fio-3.33;{name};0;0;{read};{rest};1.5%;2.5%;9;0;9;{depths}{';'.join(['0%'] * 22)}{disks}\n".encode()


def on(host: str, ops: int, runtime_ms: int, **options: str) -> dict[str, Any]:
    """An entry of a client, at one of its status intervals."""
    return job("a", 0, ops, runtime_ms, **options) | {"hostname": host, "port": 8765, "job_runtime": runtime_ms}


class Reported:
    """What a reader has said. Times in seconds; `rows`: load → (time, values in base units) as they came."""

    def __init__(self, items: Iterable[Item], clock: ResultClock = "utc", since: int = START) -> None:
        self.items = list(items)
        self.clock = clock
        self._since = since if clock == "utc" else 0
        self.entities = {item.local_id: item.attributes for item in self.items if isinstance(item, SourceEntity)}
        self.links = [(t.relation, t.from_end, t.to_end) for t in self.items if isinstance(t, SourceLink)]
        self.rows: dict[str, list[tuple[float, dict[str, float | None]]]] = {}
        self.covers: dict[str, list[float]] = {}
        for entity, moment, values, covers in self._rows("load"):
            self.rows.setdefault(entity, []).append((moment, values))
            self.covers.setdefault(entity, []).append(covers)

    @classmethod
    def of_report(cls, *parts: bytes, since: int = START) -> Reported:
        """What is said of an output that was fed in these parts."""
        return cls.fed(FioResult("f"), *parts, since=since)

    @classmethod
    def fed(cls, reader: FioResult, *parts: bytes, since: int = START) -> Reported:
        """What a reader says of these parts."""
        items: list[Item] = []
        for part in parts:
            items += reader.feed(part)
        items += reader.finish()
        return cls(items, reader.clock, since)

    @classmethod
    def of_file(cls, path: Path) -> Reported:
        """What is said of a file, as `sanpath import` reads it."""
        reader = FioResult("f")
        items = list(reader.read(ImportedFile(path)))
        return cls(items, reader.clock, since=0)

    @property
    def steps(self) -> list[tuple[str, str, float]]:
        """(event, step, time)."""
        return [(e.name, str(e.detail["step"]), self._time(e.seen)) for e in self.events() if "step" in e.detail]

    @property
    def summaries(self) -> list[bool]:
        """Of each step, whether it has one figure only."""
        return [bool(e.detail.get("summary")) for e in self.events("step-begin")]

    @property
    def warnings(self) -> list[str]:
        """Their codes."""
        return [str(event.detail["code"]) for event in self.events("data-warning")]

    @property
    def moments(self) -> Mapping[str, list[float]]:
        """Load → times of its rows."""
        return {load: [moment for moment, _ in rows] for load, rows in self.rows.items()}

    def events(self, name: str | None = None) -> list[Event]:
        """All events, or those of a name."""
        return [item for item in self.items if isinstance(item, Event) and name in (None, item.name)]

    def reported(self, event: str, key: str) -> list[Scalar]:
        """One detail of all events of a name."""
        return [found.detail.get(key) for found in self.events(event)]

    def column(self, load: str, metric: str) -> list[float | None]:
        """All values of a metric."""
        return [values.get(metric) for _, values in self.rows[load]]

    def disk(self, name: str) -> list[tuple[float, dict[str, float | None]]]:
        """(time, values) of a block device."""
        return [(moment, values) for entity, moment, values, _ in self._rows("lun") if entity == name]

    def gained(self, load: str) -> dict[str, float]:
        """Counter → what it has grown by from the first row to the last."""
        first, last = self.rows[load][0][1], self.rows[load][-1][1]
        return {name: (value or 0) - (first[name] or 0) for name, value in last.items() if name.endswith("_total")}

    def in_flight(self, load: str) -> float:
        """I/Os in flight by Little's law, from the last row of zeros to the last row."""
        rows = self.rows[load]
        begin = max(
            at for at, (_, values) in enumerate(rows) if not any(values[f"ops_{d}_total"] for d in DIRECTIONS)
        )
        waited = sum(rows[-1][1][f"latency_seconds_{d}_total"] or 0 for d in DIRECTIONS)
        return waited / (rows[-1][0] - rows[begin][0])

    def _rows(self, kind: str) -> Iterator[tuple[str, float, dict[str, float | None], float]]:
        for item in self.items:
            if isinstance(item, Rows) and item.table.kind == kind:
                scales = {column.metric: column.scale for column in item.table.columns}
                for number, (entity, seen) in enumerate(zip(item.entity, item.seen, strict=True)):
                    values = {
                        name: None if column[number] is None else float(column[number] or 0) * scales[name]
                        for name, column in item.values.items()
                    }
                    yield entity, self._time(seen), values, (item.covers_seconds or [0.0] * (number + 1))[number]

    def _time(self, seen: int) -> float:
        return (seen - self._since) / SECOND


def refusal(*parts: bytes, name: str = "") -> str:
    """The error that a reader ends with."""
    try:
        Reported.fed(FioResult("f", name), *parts)
    except CollectorError as error:
        return f"{error.failure.value}: {error}"
    return ""


HOSTILE = [
    *(
        None,
        True,
        "x",
        "",
        -1,
        1e400,
        -1e308,
        2**64,
        2**200,
        10**400,
        [],
        [1],
        {},
        {"a": 1},
        float("nan"),
        float("inf"),
    ),
    *("9" * 400, "\x00", "\ud800", "[bold]", "<b>", "'; DROP TABLE load;--", "../../x", "a\nb"),
]


def places(body: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The way to everything inside."""
    if at:
        yield at
    inside = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for key, value in inside:
        yield from places(value, (*at, key))


def replaced(body: Any, at: tuple[str | int, ...], value: object) -> Any:
    """With another value there."""
    if not at:
        return value
    copy = body.copy()
    copy[at[0]] = replaced(body[at[0]], at[1:], value)
    return copy
