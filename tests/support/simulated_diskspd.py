"""DiskSpd on a node of a simulated cluster: prints the XML of a result for its command line.

    python -m tests.support.simulated_diskspd -b65536 -d60 -W5 -F8 -O8 -w0 -r -Rxml FILE

A closed loop: each I/O takes half a millisecond until the node moves 2.88 GB/s; from there on I/Os wait.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from math import inf

UNLOADED_SECONDS = 0.0005
NODE_BYTES_PER_SECOND = 2.88e9


def operations_per_second(in_flight: float, block_bytes: float, bytes_per_second: float = inf) -> float:
    """I/Os a second of a node. `bytes_per_second`: the rate that the load stays below."""
    return min(in_flight / UNLOADED_SECONDS, min(NODE_BYTES_PER_SECOND, bytes_per_second) / block_bytes)


def result(argv: Sequence[str], node: str) -> str:
    """The XML that DiskSpd prints for a command."""
    options = {word[1]: word[2:] for word in argv[1:] if word.startswith("-")}
    size, seconds, threads, depth = (int(options[name]) for name in "bdFO")
    writes, path = int(options["w"]) / 100, argv[-1]
    limit = 1000 * threads * int(options["g"]) if "g" in options else inf
    rate, warmup = operations_per_second(threads * depth, size, limit), options.get("W", "0")
    milliseconds = 1e3 * threads * depth / rate
    directions = {"Read": rate * (1 - writes), "Write": rate * writes}
    counts = "".join(
        f"<{name}Bytes>{round(value * seconds) * size}</{name}Bytes>"
        f"<{name}Count>{round(value * seconds)}</{name}Count>"
        f"<Average{name}LatencyMilliseconds>{milliseconds:.4f}</Average{name}LatencyMilliseconds>"
        for name, value in directions.items()
    )
    series = "".join(
        f'<Bucket SampleMillisecond="{1000 * (second + 1)}" '
        + " ".join(
            f'{name}="{value:.2f}" {name}AvgLatencyMilliseconds="{milliseconds:.4f}"'
            for name, value in directions.items()
        )
        + "/>"
        for second in range(seconds)
    )
    return (
        f"<Results><System><ComputerName>{node}</ComputerName><Tool><Version>2.0.21</Version></Tool></System><Profile>"
        f"<TimeSpans><TimeSpan><Duration>{seconds}</Duration><Warmup>{warmup}</Warmup><Cooldown>0</Cooldown>"
        f"<ThreadCount>{threads}</ThreadCount><RequestCount>{depth}</RequestCount><Targets><Target><Path>{path}</Path>"
        f"<BlockSize>{size}</BlockSize><Random>{size}</Random><RequestCount>{depth}</RequestCount>"
        f"<WriteRatio>{round(100 * writes)}</WriteRatio></Target></Targets></TimeSpan></TimeSpans></Profile>"
        f"<TimeSpan><TestTimeSeconds>{seconds}.00</TestTimeSeconds><ThreadCount>{threads}</ThreadCount>"
        f"<Thread><Id>0</Id><Target><Path>{path}</Path><FileSize>68719476736</FileSize>{counts}"
        f"<Iops>{series}</Iops></Target></Thread></TimeSpan></Results>\n"
    )


if __name__ == "__main__":
    time.sleep(sum(int(word[2:]) for word in sys.argv if word[:2] in ("-d", "-W")))
    sys.stdout.write(result(sys.argv, "NODE"))
