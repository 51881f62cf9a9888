"""A large diagnosis on one worker and on two of a cluster of this machine, beside none: how well they share it.

Two workers of a machine with two cores share them with the scheduler and with the diagnosis itself.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.benchmarks.large_recording import COUNTERS, large_recording
from tests.benchmarks.rounds import interleaved, ratios, spread

PORTS, POLLS = 20_000, 200
ROUNDS = 3


def measure() -> str:
    """Seconds on one worker and two, and the efficiency of the second: half the time is 1.0."""
    from distributed import Client, LocalCluster

    from sanpath.diagnose import diagnose

    def judged(client: Client | None) -> float:
        began = time.perf_counter()
        diagnose(recording, executor=None if client is None else client.get_executor(pure=False))
        return time.perf_counter() - began

    def workers(count: int) -> LocalCluster:
        return LocalCluster(n_workers=count, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0")

    with tempfile.TemporaryDirectory() as folder:
        recording = large_recording(Path(folder) / "large.sanpath", PORTS, POLLS)
        with workers(1) as one, workers(2) as two, Client(one) as first, Client(two) as second:
            for client in (first, second):
                judged(client)  # What workers import, they import once.
            alone, on_one, on_two = interleaved(
                ROUNDS, lambda: judged(None), lambda: judged(first), lambda: judged(second)
            )
    efficiency = [ratio / 2 for ratio in ratios(on_one, on_two)]
    return (
        f"{PORTS * POLLS * len(COUNTERS) / 1e6:.0f} million samples: here {spread(alone, 1, 's')}, one worker "
        f"{spread(on_one, 1, 's')}, two {spread(on_two, 1, 's')}; efficiency of two {spread(efficiency)}"
    )
