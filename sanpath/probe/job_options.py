"""How a probe treats each option of a fio job: as part of the load, unchanged, left out, or refused."""

from __future__ import annotations

import re
from types import MappingProxyType

SYNCHRONOUS = frozenset(("sync", "psync", "vsync", "pvsync", "pvsync2"))
"""I/O engines with one I/O outstanding in each thread, whatever the queue depth."""
ENGINES = SYNCHRONOUS | {"libaio", "io_uring", "posixaio", "windowsaio", "nbd"}
"""I/O engines of jobs that a probe runs: others need options unknown to it, or load a library."""

ALIASES = MappingProxyType({"readwrite": "rw", "blocksize": "bs", "blockalign": "ba"})
"""Other names of options."""

LOAD = frozenset(
    (
        *("rw", "rwmixread", "rwmixwrite", "bs", "iodepth", "numjobs", "size", "filename", "uri", "directory"),
        *("ioengine", "direct", "buffered", "ramp_time"),
    )
)
"""Options that become keys of the plan: an experiment may change them."""

UNCHANGED = frozenset(
    (
        *("thread", "norandommap", "softrandommap", "random_generator", "random_distribution"),
        *("refill_buffers", "scramble_buffers", "zero_buffers", "buffer_compress_percentage"),
        *("buffer_compress_chunk", "dedupe_percentage", "fsync", "fdatasync", "sync", "invalidate", "fadvise_hint"),
        *("iodepth_batch", "iodepth_batch_submit", "iodepth_batch_complete", "iodepth_batch_complete_min"),
        *("iodepth_batch_complete_max", "iodepth_low", "hipri", "fixedbufs", "registerfiles", "nonvectored"),
        *("sqthread_poll", "sqthread_poll_cpu", "force_async", "cpus_allowed", "cpus_allowed_policy"),
        *("numa_cpu_nodes", "prio", "prioclass", "nice", "file_service_type", "ba", "offset", "write_hint"),
    )
)
"""Options that every step keeps unchanged: they name no file and no command."""
UNCHANGED_VALUE = re.compile(r"[A-Za-z0-9_.,:%/+-]{0,200}")

LEFT_OUT = re.compile(
    r"""
    runtime|timeout|time_based|loops|number_ios|io_size|io_limit|start_?delay|stonewall|wait_for(_previous)?|new_group
    |exit(all|all_on_error|_what)|group_reporting|status[-_]interval|output([-_]format)?|eta([-_]\w+)?|name|description
    |(all)?randrepeat|randseed|gtod_reduce|gtod_cpu|clocksource|disable_\w+|[cs]?lat_percentiles|percentile_list
    |significant_figures|unified_rw_reporting|per_job_logs|write_\w*log|log_\w+|(bw|iops)avgtime|(steadystate|ss)\w*
    |create_(serialize|fsync|on_open)|minimal
    """,
    re.VERBOSE,
)
"""Options about the duration of a job and its reports: a probe determines both."""

REFUSED: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(names), reason)
    for names, reason in (
        (r"exec_\w+", "would run a command: run it yourself before the probe, and leave it out in a copy"),
        (r"client|server|remote", "a probe runs its load itself: name hosts in a plan with load.job_file"),
        (r"(do_)?verify\w*", "a probe only reads or writes: leave it out in a copy"),
        (
            r"(rate|thinktime|latency_(target|window|percentile|run)|flow)\w*",
            "throttles the load and would be the limit: leave it out in a copy, and give budget.bytes_per_second",
        ),
        (r"bssplit|bsrange|blocksize_range|bs_unaligned", "a probe varies one block size: give bs"),
        (
            r"trim\w*|unlink\w*|fill_device|fill_fs|create_only",
            "changes the target by more than reads and writes: leave it out in a copy",
        ),
        (r"nrfiles|opendir|filesize|filename_format", "makes or finds files by itself: name them with filename"),
        (r"kb_base|unit_base", "gives sizes another meaning: write bytes"),
    )
)
"""Options that a probe does not run, with the action to take."""
UNKNOWN = "a probe does not know what this changes: leave it out in a copy, or write a plan"
