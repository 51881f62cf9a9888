"""What one look of the live view costs, by the number of switch ports in the recording: CPU time, the imports apart.

A look is a diagnosis of all that was recorded until then, by the same code as `sanpath diagnose`, and what the screen
draws beside it. It is a later one of a reader, which keeps the samples that it has read: two polls of every port have
come since the one before. It is held against the bare query for the rates, means and quantiles of the same samples.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.large_recording import large_recording
from tests.benchmarks.rounds import interleaved, ratios, spread

PORTS = (200, 5_000, 50_000)
POLLS = 30
ROUNDS = 3
GOALS_SECONDS = {200: 0.05, 5_000: 0.15}
_LOOK = """
import sys
from pathlib import Path
from sanpath.recording.reading.sample_cache import SampleCache
from sanpath.recording.storage.store import store_at
from sanpath.views.live.reading.judging import read_snapshot
held = SampleCache(store_at(Path(sys.argv[1])))
newest = max((Path(sys.argv[1]) / "samples" / "switch_port").glob("site-*.parquet"))
newest.rename(newest.with_suffix(".later"))
try:
    before = read_snapshot(Path(sys.argv[1]), cache=held)
finally:
    newest.with_suffix(".later").rename(newest)
seen = read_snapshot(Path(sys.argv[1]), previous=before, cache=held)
assert seen.diagnosis is not None, seen.failure
print(seen.cost_seconds)
"""
_BARE = """
import sys, time
from pathlib import Path
from tests.benchmarks.analysis import bare_query
bare_query(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
began = time.process_time()
bare_query(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
print(time.process_time() - began)
"""


def measure() -> str:
    """One line a size."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for ports in PORTS:
            recording = Path(folder) / f"{ports}.sanpath"
            large_recording(recording, ports, POLLS, segments=POLLS // 2)
            for ending in (recording / "writers").glob("*.end.json"):
                ending.unlink()  # What is looked at grows.
            seen, bare = interleaved(
                ROUNDS,
                lambda recording=recording: _second(_LOOK, str(recording)),
                lambda recording=recording, ports=ports: _second(_BARE, str(recording), str(ports), str(POLLS)),
            )
            goal = f" (goal {GOALS_SECONDS[ports] * 1e3:.0f} ms)" if ports in GOALS_SECONDS else ""
            lines.append(
                f"{ports:,} ports, {POLLS} polls: {spread(seen, 1e3, 'ms')} a look{goal}; the bare query "
                f"{spread(bare, 1e3, 'ms')}: {spread(ratios(seen, bare))} times"
            )
    return "".join(f"\n  {line}" for line in lines)


def _second(script: str, *arguments: str) -> float:
    """What a process of its own says of doing it for the second time."""
    done = subprocess.run([sys.executable, "-c", script, *arguments], check=True, capture_output=True, text=True)
    # On a busy machine DuckDB draws its progress before it.
    return float(done.stdout.split()[-1])
