"""The command lines of a step, for sanpath or for a person to start."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator

from sanpath.sweep.matrix import SweepStep
from sanpath.sweep.plan import Plan, Target

_VDBENCH = """
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cat >"$folder/parameters" <<'END'
{parameters}
END
{vdbench} -f "$folder/parameters" -o "$folder/output" >&2 || exit
cat "$folder/output/flatfile.html"
"""
"""Runs vdbench and prints the report that sanpath reads: vdbench itself prints less."""


def command(plan: Plan, step: SweepStep, bytes_per_second: int | None = None) -> tuple[str, ...]:
    """Return the command that sanpath starts for one step; the generator's reader reads its output.

    `bytes_per_second`: rate limit for DiskSpd or vdbench, None: no limit. fio's limit is in its options.
    """
    if plan.engine == "diskspd":
        return tuple(_diskspd(plan, step, bytes_per_second))
    if plan.engine == "vdbench":
        parameters = "\n".join(_parameters(plan, step, bytes_per_second))
        return "/bin/sh", "-c", _VDBENCH.format(parameters=parameters, vdbench=_program(plan))
    return fio(plan, step)


def fio(plan: Plan, step: SweepStep) -> tuple[str, ...]:
    """Return the fio command for one step; with `steady`, for the longest time that the step may take."""
    measured = plan.steady.at_most_seconds if plan.steady else plan.seconds
    exports = plan.target.uri[: step.targets]
    depth = step.in_flight_per_thread // (len(exports) or 1)
    words = [
        *shlex.split(plan.command or "fio"),
        f"--ioengine={'nbd' if exports else 'libaio'}",
        *([] if exports else ["--direct=1"]),
        # With the same offsets in every step, a cache would answer from the second step on.
        "--randrepeat=0",
        # Percentiles of the same latency as the mean, which includes submission.
        *("--lat_percentiles=1", "--clat_percentiles=0"),
        f"--rw={_fio_rw(step)}",
        *([] if step.read_ratio in (0, 1) else [f"--rwmixread={100 * step.read_ratio:g}"]),
        f"--bs={step.block_bytes}",
        f"--iodepth={depth}",
        f"--numjobs={step.threads}",
        *_fio_size(step),
        "--time_based",
        f"--runtime={1000 * measured:.0f}ms",
        *([f"--ramp_time={1000 * plan.warmup_seconds:.0f}ms"] if plan.warmup_seconds else []),
        # A group shows the options of its first job only, which would hide the other exports.
        *([] if len(exports) > 1 else ["--group_reporting"]),
        *(
            f"--{name.lstrip('-')}={int(value) if isinstance(value, bool) else value}"
            for name, value in plan.fio.items()
        ),
    ]
    if not exports:
        return (*words, f"--name={step.key}", *_fio_files(plan.target, step))
    for number, uri in enumerate(exports, start=1):
        words += [f"--name={step.key}" + (f"-{number}" if len(exports) > 1 else ""), f"--uri={uri}"]
    return tuple(words)


def _fio_rw(step: SweepStep) -> str:
    access = "rand" if step.random else ""
    return access + {0.0: "write", 1.0: "read"}.get(step.read_ratio, "rw")


def _fio_size(step: SweepStep) -> list[str]:
    """Return the size options: each sequential thread gets a separate region, or it would hit another's cache."""
    regions = 1 if step.random else step.threads
    words = []
    if step.working_set_bytes is not None:
        words.append(f"--size={step.working_set_bytes // regions}")
    if regions > 1 and step.working_set_bytes is None:
        words.append(f"--offset_increment={100 // regions}%")
    elif regions > 1 and step.working_set_bytes is not None:
        words.append(f"--offset_increment={step.working_set_bytes // regions // step.targets}")
    return words


def _fio_files(target: Target, step: SweepStep) -> list[str]:
    if target.directory:
        # File names without the job's name let the next step use the same files.
        return [
            f"--directory={_fio_path(target.directory)}",
            f"--nrfiles={step.files}",
            "--filename_format=sanpath.$filenum",
        ]
    return ["--filename=" + ":".join(_fio_path(name) for name in target.filename[: step.targets])]


def _fio_path(name: str) -> str:
    return name.replace(":", r"\:")


def shell_command(plan: Plan, step: SweepStep) -> str:
    """Return the command to type on each host for one step; it writes the result to a file named after the step."""
    if plan.engine == "diskspd":
        return f"{subprocess.list2cmdline(_diskspd(plan, step))} > {step.key}.xml"
    if plan.engine == "vdbench":
        return "\n".join(_vdbench(plan, step))
    return shlex.join((*fio(plan, step), "--output-format=json", "--status-interval=1", f"--output={step.key}.json"))


def _diskspd(plan: Plan, step: SweepStep, bytes_per_second: int | None = None) -> list[str]:
    """Return the DiskSpd command: -F threads each drive all targets with -O outstanding I/Os (2.0.20 or newer).

    Its rate limit is per thread and target, in bytes a millisecond. Zero would mean no limit.
    """
    rates = step.threads * step.targets * 1000
    return [
        *shlex.split(plan.command or "diskspd", posix=False),
        f"-b{step.block_bytes}",
        f"-d{plan.seconds:.0f}",
        f"-W{plan.warmup_seconds:.0f}",
        f"-F{step.threads}",
        f"-O{step.in_flight_per_thread}",
        f"-w{100 * (1 - step.read_ratio):.0f}",
        "-r" if step.random else "-si" if step.threads > 1 else "-s",
        *([f"-g{max(1, bytes_per_second // rates)}"] if bytes_per_second is not None else []),
        *([f"-f{step.working_set_bytes // step.targets}"] if step.working_set_bytes else []),
        # No file cache and no device write cache; latencies; one value per second; XML for the import.
        *("-Sh", "-L", "-D1000", "-Rxml"),
        *plan.target.filename[: step.targets],
    ]


def _vdbench(plan: Plan, step: SweepStep) -> Iterator[str]:
    """Yield the lines to type for vdbench."""
    yield f"cat > {step.key}.vdb <<'END'"
    yield from _parameters(plan, step)
    yield "END"
    yield f"{_program(plan)} -f {step.key}.vdb -o {step.key}"


def _program(plan: Plan) -> str:
    return plan.command or "vdbench"


def _parameters(plan: Plan, step: SweepStep, bytes_per_second: int | None = None) -> Iterator[str]:
    """Yield the parameter file: `threads` are per storage definition, each with one outstanding I/O; the rate is the
    total in I/Os a second."""
    rate = "max"
    if bytes_per_second is not None:
        # By default I/Os arrive at random, so that the actual rate may exceed the limit.
        rate = f"{max(1, bytes_per_second // step.block_bytes)},distribution=deterministic"
    each = step.in_flight // step.targets
    for number, name in enumerate(plan.target.filename[: step.targets], start=1):
        size = f",size={step.working_set_bytes // step.targets}" if step.working_set_bytes else ""
        yield f"sd=sd{number},lun={name},openflags=o_direct,threads={each}{size}"
    seek = 100 if step.random else 0
    yield f"wd=wd1,sd=sd*,xfersize={step.block_bytes},rdpct={100 * step.read_ratio:g},seekpct={seek}"
    seconds = f"elapsed={plan.seconds:.0f},interval=1,warmup={plan.warmup_seconds:.0f}"
    yield f"rd={step.key},wd=wd1,iorate={rate},{seconds}"
