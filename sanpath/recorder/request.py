"""What the screen asks the recorder process to do: one line of JSON on its standard input. Holds no secret."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from sanpath.recording.storage.store import location
from sanpath.sweep.plan import LOCAL, Plan

STOP = "stop"
ABORT = "abort"
UNWRITTEN = 4
"""The recorder's exit code when the recording could not be written to its end."""

PYTHONPATH_BEFORE = "SANPATH_PYTHONPATH"
"""The variable in which the recorder gets PYTHONPATH as the person had it: the load command gets it back."""


class SweepRequest(BaseModel):
    """The load of a run is a sweep. `file`: what the plan is called. `done`, `cut`: keys of its steps that are in the
    recording whole, and of those that had begun when an earlier run was interrupted."""

    model_config = ConfigDict(frozen=True)

    plan: Plan
    file: str
    done: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()


class RunRequest(BaseModel):
    """One run.

    `config`: the configuration file, read again by the recorder, None for none. `load`: the load command, empty for
    none; `sweep`: the loads of a plan instead of it. `load_reader`: the collector that reads the load's output, None:
    told from the program's name. `on`: hosts of the configuration that run the load, none: this one. `for_seconds`:
    end after this time; None: with the load, its own or that of the recording's other recorders, or when told to.
    `keep_seconds`: how long samples are kept, None: as the configuration says. `writer`: what this recorder is
    called, "" as its host.
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
        """What this recorder is called."""
        return self.writer or platform.node() or "host"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of the hosts on which the load is started in lock-step; none: it is started here."""
        planned = self.sweep.plan.hosts if self.sweep else ()
        return self.on or (planned if planned != (LOCAL,) else ())

    @property
    def has_load(self) -> bool:
        """Whether a load is started: its end is that of the run."""
        return bool(self.load) or self.sweep is not None

    @property
    def plan(self) -> str:
        """Digest of the sweep's plan, "" for none."""
        return self.sweep.plan.digest if self.sweep else ""
