"""vdbench on a host of a simulated storage system: `vdbench -f PARAMETERS -o FOLDER` writes FOLDER/flatfile.html.

A closed loop: each I/O takes half a millisecond until the host moves 2.88 GB/s; from there on I/Os wait. Columns and
notation are those of 5.04.07 (tests/collectors/vdbench).
"""

from __future__ import annotations

import re
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

UNLOADED_SECONDS = 0.0005
HOST_BYTES_PER_SECOND = 2.88e9
_COLUMNS = (
    "tod timestamp Run Interval reqrate rate MB/sec bytes/io read% resp read_resp write_resp resp_max read_max "
    "write_max resp_std read_std write_std xfersize threads rdpct rhpct whpct seekpct lunsize version compratio "
    "dedupratio queue_depth cpu_used cpu_user cpu_kernel cpu_wait cpu_idle"
)


def operations_per_second(in_flight: float, block_bytes: float) -> float:
    """I/Os a second of a host."""
    return min(in_flight / UNLOADED_SECONDS, HOST_BYTES_PER_SECOND / block_bytes)


def flatfile(parameters: str, begin: datetime) -> str:
    """What vdbench writes for a parameter file with one run of random reads."""

    def option(name: str) -> str:
        return str(re.findall(rf"\b{name}=([^,\n]+)", parameters)[-1])

    threads = sum(int(number) for number in re.findall(r"\bthreads=(\d+)", parameters))
    size, seconds, run = int(option("xfersize")), int(option("elapsed")), option("rd")
    rate = operations_per_second(threads, size)
    milliseconds = 1e3 * threads / rate

    def row(moment: datetime, interval: str) -> str:
        times = f"{milliseconds:.4f} {milliseconds:.4f} 0"
        return (
            f"{moment:%H:%M:%S}.000 {moment:%m/%d/%Y-%H:%M:%S}-UTC {run} {interval} 9999988 {rate:.4f} "
            f"{rate * size / 2**20:.4f} {size} 100 {times} {times} 0.1 0.1 0 {size} {threads} 100 0 0 100 64 n/a "
            f"1 n/a {threads} 10 5 5 0 90"
        )

    rows = [row(begin + timedelta(seconds=second), str(second)) for second in range(1, seconds + 1)]
    last = begin + timedelta(seconds=seconds)
    head = "<title>Vdbench output/flatfile.html</title><pre>\n*\n* Run             : Name of run from RD=\n"
    return f"{head}{_COLUMNS} \n" + "".join(f"{line} \n" for line in (*rows, row(last, f" avg_2-{seconds}")))


def main(parameter_file: str, output: str) -> None:
    """Take as long as the run says."""
    begin, text = datetime.now(UTC), Path(parameter_file).read_text()
    report = flatfile(text, begin)
    time.sleep(int(re.findall(r"elapsed=(\d+)", text)[-1]))
    folder = Path(output)
    folder.mkdir()
    (folder / "flatfile.html").write_text(report)


if __name__ == "__main__":
    main(sys.argv[2], sys.argv[4])
