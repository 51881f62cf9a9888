"""What the screen asks the recorder process to do: one line of JSON on its standard input. Holds no secret."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from sanpath.recording.store import location

STOP = "stop"
ABORT = "abort"

PYTHONPATH_BEFORE = "SANPATH_PYTHONPATH"
"""The variable in which the recorder gets PYTHONPATH as the person had it: the load command gets it back."""


class RunRequest(BaseModel):
    """One run.

    `config`: the configuration file, read again by the recorder, None for none. `load`: the load command, empty for
    none. `load_reader`: the collector that reads its output, None: told from the program's name.
    `for_seconds`: end after this time; None: with the load, or when told to.
    """

    model_config = ConfigDict(frozen=True)

    folder: Annotated[str | Path, Field(union_mode="left_to_right"), AfterValidator(location)]
    config: Path | None = None
    load: tuple[str, ...] = ()
    load_reader: str | None = None
    for_seconds: float | None = None
    only_sources: tuple[str, ...] = ()
