"""What a diagnosis of a large site costs, against the bare query for the same rates, means and quantiles.

Each of them runs in a process of its own; the bare query goes over the same segments in the same parts.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from string import Template

from tests.benchmarks.large_recording import COUNTERS, SITE, large_recording
from tests.benchmarks.rounds import interleaved, ratios, spread

SIZES = ((500, 200), (5_000, 200), (50_000, 200))
"""Ports and polls: 1, 10 and 100 million samples of ten counters."""
ROUNDS = 3
_PART_SAMPLES = 6_000_000
_SQL = Template("""
    SELECT entity, $figures FROM (
        SELECT entity, $rates
        FROM (
            SELECT entity, seen - lag(seen) OVER one AS dt, $deltas
            FROM read_parquet('$files') WHERE entity BETWEEN '$first' AND '$last'
            WINDOW one AS (PARTITION BY entity ORDER BY seen)
        ) WHERE dt > 0
    ) GROUP BY entity
""")
_MEASURED = """
import sys, time
from pathlib import Path
{imports}
began = time.perf_counter()
{work}
seconds = time.perf_counter() - began
# Not what getrusage says: that begins with the most that the parent had held.
(most,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(seconds, int(most.split()[1]) / 1024)
"""


def measure() -> str:
    """One line a size, and how the time grows with the samples."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for ports, polls in SIZES:
            recording = Path(folder) / f"{ports}.sanpath"
            large_recording(recording, ports, polls)
            lines.append(_compare(recording, ports, polls))
    return "".join(f"\n  {line}" for line in lines)


def _compare(recording: Path, ports: int, polls: int) -> str:
    memory: list[float] = []

    def diagnosis() -> float:
        imports = "from sanpath.diagnose import diagnose\nfrom sanpath.recording.reading.recording import Recording"
        seconds, megabytes = _run(imports, f"diagnose(Recording(Path({str(recording)!r})))")
        memory.append(megabytes)
        return seconds

    def bare() -> float:
        imports = "from tests.benchmarks.analysis import bare_query"
        return _run(imports, f"bare_query(Path({str(recording)!r}), {ports}, {polls})")[0]

    ours, theirs = interleaved(ROUNDS, diagnosis, bare)
    samples = ports * polls * len(COUNTERS)
    return (
        f"{samples / 1e6:.0f} million samples: diagnosis {spread(ours, 1, 's')}, "
        f"bare query {spread(theirs, 1, 's')}, {spread(ratios(ours, theirs))} times; {max(memory):.0f} MB"
    )


def bare_query(recording: Path, ports: int, polls: int) -> None:
    """Rates, their mean and three quantiles of every counter of every port, in parts that fit into memory."""
    from duckdb import connect

    connection = connect()
    parts = -(-ports * polls * len(COUNTERS) // _PART_SAMPLES)
    length = -(-ports // parts)
    for first in range(0, ports, length):
        query = _SQL.substitute(
            files=recording / "samples" / "switch_port" / f"{SITE}-*.parquet",
            first=f"port{first:06d}",
            last=f"port{min(ports, first + length) - 1:06d}",
            deltas=", ".join(
                f'CASE WHEN "{n}" >= lag("{n}") OVER one THEN "{n}" - lag("{n}") OVER one END AS "{n}"'
                for n in COUNTERS
            ),
            rates=", ".join(f'"{n}" / dt * 1e6 AS "{n}"' for n in COUNTERS),
            figures=", ".join(f'avg("{n}"), quantile_cont("{n}", [0.5, 0.95, 0.99])' for n in COUNTERS),
        )
        connection.execute(query).fetchall()
    connection.close()


def _run(imports: str, work: str) -> tuple[float, float]:
    """Seconds and megabytes of a piece of work in a process of its own."""
    script = _MEASURED.format(imports=imports, work=work)
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    seconds, megabytes = map(float, done.stdout.split())
    return seconds, megabytes
