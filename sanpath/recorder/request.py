"""The request to the recorder process: a line of JSON on its standard input. It contains no secret."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from sanpath.recording.storage.store import location
from sanpath.sweep.matrix import SweepStep
from sanpath.sweep.plan import LOCAL, Plan


class SweepRequest(BaseModel):
    """A sweep as the load of a run.

    `file`: name of the plan file. `done`: keys of the steps that are recorded completely. `cut`: keys of the steps
    that were running when an earlier run was interrupted. `by_order`: the steps of a probe, which arrive as orders
    one after the other. `idle_seconds`: idle time before the first of them.
    """

    model_config = ConfigDict(frozen=True)

    plan: Plan
    file: str
    done: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    by_order: bool = False
    idle_seconds: float = 0.0


class StepOrder(BaseModel):
    """A step of a probe. `host`: the host of the plan that runs it. `fio`: options besides those of the plan.
    `is_pause`: no load runs in it. `bytes_per_second`: limit for DiskSpd or vdbench; None: no limit.

    `seconds`: how long it is measured; None: as long as the plan says. `why`: the reason for it, for people.
    `devices`: the devices that it uses instead of the plan's target; (): the target.
    """

    model_config = ConfigDict(frozen=True)

    step: SweepStep
    experiment: str
    why: str = ""
    host: str
    seconds: float | None = None
    fio: dict[str, str] = {}
    devices: tuple[str, ...] = ()
    is_pause: bool = False
    bytes_per_second: int | None = None


class EndOrder(BaseModel):
    """The end of a probe. `reason`: why it ends. `what`: the next action, which only a person can take; "": none."""

    model_config = ConfigDict(frozen=True)

    reason: str
    what: str = ""


class RunRequest(BaseModel):
    """One run.

    `config`: the configuration file, which the recorder reads again; None: there is none. `load`: the load command;
    empty: no load. `sweep`: the loads of a plan instead. `load_reader`: the collector that reads the load's output;
    None: chosen by the program's name. `on`: hosts of the configuration that run the load; empty: this machine.
    `for_seconds`: end after this time; None: end with the load, its own or another recorder's, or on request.
    `keep_seconds`: retention of samples; None: as configured. `writer`: name of this recorder; "": its host name.
    """

    model_config = ConfigDict(frozen=True)

    folder: Annotated[str | Path, Field(union_mode="left_to_right"), AfterValidator(location)]
    config: Path | None = None
    load: tuple[str, ...] = ()
    load_reader: str | None = None
    for_seconds: float | None = None
    only_sources: tuple[str, ...] = ()
    sweep: SweepRequest | None = None
    on: tuple[str, ...] = ()
    keep_seconds: float | None = None
    writer: str = ""

    @property
    def recorder(self) -> str:
        """The name of this recorder."""
        return self.writer or platform.node() or "host"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of the hosts on which the load is started at the same moment; empty: only this machine."""
        planned = self.sweep.plan.hosts if self.sweep else ()
        return self.on or (planned if planned != (LOCAL,) else ())

    @property
    def has_load(self) -> bool:
        """Whether the run starts a load, and ends with it."""
        return bool(self.load) or self.sweep is not None

    @property
    def plan(self) -> str:
        """Digest of the sweep's plan; "": no sweep."""
        return self.sweep.plan.digest if self.sweep else ""
