"""Places a file that contains no times: at a time that a person gives, or by its modification time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sanpath.errors import CollectorError, UsageError
from sanpath.model import Event, SourceEntity
from sanpath.plugin import ResultReader, Rows
from sanpath.recorder.importing.files.imported_file import ImportedFile
from sanpath.recorder.importing.placement.placement import Placement, step_limits
from sanpath.recorder.importing.placement.placement_remarks import find_steps_of_tool
from sanpath.recording.reading.recording import Recording

_LENGTH_TOLERANCE_RATIO = 0.05
"""Ratio by which the lengths of two files of one run may differ: the windows of a log may end before its job."""
_GAP_US = 1_000_000
"""Gap between the end of the last run and a file without times that is placed after it."""

_Device = tuple[str, str]
"""Kind and name of a block device or port."""


def place_at_marks(placement: Placement, marks: Sequence[str], recording: Recording | None) -> Placement:
    """Place a file at the recording's steps of these names. Raises UsageError if there is no such step."""
    if recording is None:
        raise UsageError("--mark names a step of a recording; there is none yet: use --at")
    steps = step_limits(recording.events())
    for name in marks:
        if name not in steps:
            step_names = ", ".join(steps) or "none"
            raise UsageError(f"the recording has no step {name!r}; there are: {step_names}")
    placement.marks = tuple(steps[name][0] for name in marks)
    return placement


def place_untimed(
    placement: Placement,
    files: Sequence[ImportedFile],
    reader: type[ResultReader],
    recording: Recording | None,
    collector: str,
    host: str | None,
    *,
    follows_file: bool,
) -> tuple[Placement, list[str]]:
    """Place the files of one run, if they contain no times. Returns the placement, with remarks about guesses.

    Two such files are taken for two runs, one after the other, even if they have the same modification time because
    they were copied together, or the same --at (`follows_file`). So are two files of one command with the same
    devices, without loads: a device has one history.
    """
    requested_us = placement.begins
    if requested_us is not None and not follows_file:
        return placement, []
    length_us, devices = _measure(files, reader)
    if not length_us:  # Nothing has to be placed by its modification time.
        if requested_us is None and recording is not None:
            placement.begins = recording.started_us
        return placement, []
    begins = max(round(file.path.stat().st_mtime * 1e6) for file in files) - length_us
    placement.begins = begins if requested_us is None else requested_us
    steps = list(find_steps_of_tool(recording, collector, host)) if recording is not None else []
    spans = steps + (list(_spans_of(devices, recording, collector)) if follows_file and recording is not None else [])
    if any(begin < placement.begins + length_us and placement.begins < end for _, begin, end in spans):
        source, _, ended = max(spans, key=lambda span: span[2])
        placement.begins = ended + _GAP_US
        return placement, [f"the file holds no times: it is placed after {source}, as a run of its own"]
    if requested_us is not None:
        return placement, []
    guess = "its modification time is taken as the end of its last load; --mark or --at is more exact"
    return placement, [
        f"the file holds no times: {guess}",
        *_duplicate_run_remarks(files, reader, steps, length_us, follows_file=follows_file),
    ]


def _duplicate_run_remarks(
    files: Sequence[ImportedFile],
    reader: type[ResultReader],
    steps: Sequence[tuple[str, int, int]],
    length_us: int,
    *,
    follows_file: bool,
) -> Iterator[str]:
    """Yield a remark if parts of a run are as long as a step of the same tool: both may be of the same run.

    `follows_file`: both files were named in one command, but not recognised as parts of one run.
    """
    is_part = bool(reader.part_of(files[0].name))
    similar = [
        source for source, begin, end in steps if abs(end - begin - length_us) <= _LENGTH_TOLERANCE_RATIO * length_us
    ]
    if is_part and similar:
        advice = "import only one of them" if follows_file else "import all files of the run with one command"
        yield f"{similar[0]} has a load of the same length: if both are of one run, it is now counted twice; {advice}"


def _spans_of(devices: Collection[_Device], recording: Recording, collector: str) -> Iterator[tuple[str, int, int]]:
    """Yield (source, begin, end), in microseconds, of the sources of a tool that have samples of the same devices."""
    same_tool = {declaration.name for declaration in recording.declarations if declaration.collector == collector}
    found = {
        source
        for source, _, item in recording.inventory()
        if source in same_tool and isinstance(item, SourceEntity) and _device(item) in devices
    }
    began = {poll.source: poll.started for poll in recording.polls()}
    for source, event in recording.events():
        if event.name == "imported" and source in found and source in began:
            yield source, began[source], event.seen


def _device(item: SourceEntity) -> _Device | None:
    return (item.kind, item.label or item.local_id) if item.kind in ("lun", "hba") else None


def _measure(files: Sequence[ImportedFile], reader: type[ResultReader]) -> tuple[int | None, set[_Device]]:
    """Return the total duration, in microseconds, and the block devices and ports. 0: nothing has a time. None: the
    files contain times."""
    last_us = 0
    devices = set[_Device]()
    trial = reader("trial")
    try:
        for item in trial.read_parts(files):
            if trial.clock != "elapsed":
                return None, set()
            if isinstance(item, SourceEntity) and (device := _device(item)) is not None:
                devices.add(device)
            times_us = item.seen if isinstance(item, Rows) else [item.seen] if isinstance(item, Event) else []
            last_us = max(last_us, *times_us, 0)
    except CollectorError:
        pass  # The actual import reports it.
    finally:
        for file in files:
            file.read_bytes = 0
    return (last_us if trial.clock == "elapsed" else None), devices
