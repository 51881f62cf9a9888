"""How busy arrays are before the load of a test begins: controllers that poll are as busy without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sanpath.facts.load.load_events import SourceEvents
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.facts.storage.arrays import array_rows
from sanpath.facts.storage.controllers import controller_use
from sanpath.facts.table import FactTable, number
from sanpath.model import Step
from sanpath.topology.topology import Topology

KINDS = ("array", "controller")
"""Entity kinds whose samples show it."""
_BEFORE = "* before the load *"


@dataclass(frozen=True, slots=True)
class IdleArray:
    """An array before the load begins. `use`: facts of its controllers, as of the table of arrays; None: not known.
    The rates are those of all its I/Os, of both directions, which are other hosts'."""

    use: Mapping[str, float | None]
    ops_per_second: float
    bytes_per_second: float


def before_load(events: SourceEvents, first_us: int) -> Step | None:
    """Return the time from the begin of a recording, `first_us`, to the first mark of a load, as a step. None: no
    load marks its begin. What an array does later it may do because of the load, such as destaging."""
    begins = [event.seen for _, event in events if event.name in ("step-begin", "load-started")]
    if not begins or min(begins) <= first_us:
        return None
    return Step(_BEFORE, first_us, min(begins), "marks", (), None)


def idle_arrays(topology: Topology, samples: Mapping[str, Sequence[StepSamples]]) -> dict[str, IdleArray]:
    """Return the arrays whose controllers were read before the load. `samples`: kind → samples in `before_load`."""
    rows = list(array_rows(topology, "array", (), FactTable(()), samples.get("array", ())))
    return {
        array: IdleArray(
            use,
            *(
                sum(number(row, rate) for row in rows if row["entity"] == array)
                for rate in ("ops_per_second", "bytes_per_second")
            ),
        )
        for (array, _), use in controller_use(topology, samples.get("controller", ())).items()
    }
