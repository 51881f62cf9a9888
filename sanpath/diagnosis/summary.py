"""The first screen of a report as data: what every view shows first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

PathRole = Literal["limits", "waits"]


@dataclass(frozen=True, slots=True)
class PathElement:
    """An entity or a link of the I/O path.

    `name`: its name for people. `role`: the verdict names it as the limit, or I/Os wait in it for the limit; None:
    neither. A load that is its own limit, or its machine, is marked as well. Links only, in the step of the verdict:
    `speed` and `utilisation` (ratio) of the busier `direction`; None: not measured.
    """

    entity: str
    kind: str
    name: str
    role: PathRole | None = None
    speed: str | None = None
    utilisation: float | None = None
    direction: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """What a reader needs in the first minute.

    `verdict`: what limits, in one line of at most 12 words where names have no blanks. `consequence`: what follows
    for throughput and latency. `acquittal`: what is not the problem, and up to which load that was seen; None:
    nothing was cleared. `path`: the loaded path that the verdict names, from load to volume. `off_path`: limiting
    elements that are not on it. `other_links`: of a verdict on links or path policies, the links of the same host to
    its other paths, except limiting ones. `more_paths`: number of other paths; without links, of other machines with
    a load. `action`: the first thing to do. `plan_step`: its number in the plan; None: it decides between suspects,
    or there is nothing to do. `gain`: what it would bring, None: unknown. `other_io`: the verdict of each other kind
    of I/O of the run in a sentence, where it differs.
    """

    verdict: str
    consequence: str | None = None
    acquittal: str | None = None
    path: Sequence[PathElement] = ()
    off_path: Sequence[PathElement] = ()
    other_links: Sequence[PathElement] = ()
    more_paths: int = 0
    action: str | None = None
    plan_step: int | None = None
    gain: str | None = None
    other_io: Sequence[str] = ()
