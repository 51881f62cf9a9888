"""What is odd about where a file was placed: a wrong time zone, a run counted twice, an option without use."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.plugin import ResultClock
from sanpath.recorder.importing.place import Placement, steps_of
from sanpath.recording.reading.recording import Recording

_QUARTER_US = 900 * 1_000_000
"""Time zones differ by quarters of an hour."""


def twins(placement: Placement, known: Recording, collector: str) -> Iterator[str]:
    """The same tool has already told of loads at the same time: it writes several files of one run."""
    if not placement.steps or placement.first is None or placement.last is None:
        return
    for source in sorted({d.name for d in known.declarations if d.collector == collector}):
        steps = steps_of([told for told in known.events() if told[0] == source]).values()
        if any(e is not None and b < placement.last and placement.first < e for b, e in steps):
            yield f"{source} tells of loads at the same time: if both files are of one run, it is now counted twice"
            return


def idle_options(placement: Placement, clock: ResultClock, asked: Placement) -> Iterator[str]:
    """An option that places the file had nothing to place. `asked`: the placement before anything was guessed."""
    if clock in ("utc", "local") and asked.begins is not None:
        yield "--at is not used: the file tells its times; --clock-behind or --mark moves them"
    if clock != "local" and asked.zone is not None and asked.begins is None:
        yield "--utc-offset is not used: the file has no local times"
    idle = len(placement.marks) - placement.steps
    if idle > 0 and (clock != "elapsed" or placement.steps):
        yield f"--mark: {idle} more named than there are loads in the file: not used"


def decides(clock: ResultClock, asked: Placement) -> str:
    """The option that a mistake of hours is in; "" for none."""
    if clock == "elapsed":
        return "--at" if asked.begins is not None else ""
    return "--utc-offset" if clock == "local" else ""


def outside(placement: Placement, known: Recording, option: str) -> Iterator[str]:
    """It lies outside of everything else in the recording. `option`: what decided on that, "": nothing did."""
    first, last, polls = placement.first, placement.last, known.polls()
    if first is None or last is None or not polls:
        return
    began = min(poll.started for poll in polls)
    imported = (event.seen for _, event in known.events() if event.name == "imported")
    ended = max(*(poll.ended for poll in polls), *imported, began)  # The poll of an import is a moment only.
    apart = max(began - last, first - ended)
    if apart > 0:
        quarters = -(-apart // _QUARTER_US)
        shift = quarters * _QUARTER_US * (1 if last < began else -1)
        meets = first + shift <= ended and began <= last + shift
        hint = f"; {option} may be wrong by about {quarters / 4:g} h" if meets and option else ""
        yield f"it lies {apart / 1e6:,.0f} s outside of what else was recorded and meets none of it{hint}"
