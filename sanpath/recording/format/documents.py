"""The JSON documents of a recording: its manifest, and the header and ending of each writer."""

from __future__ import annotations

import math
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr
from pydantic.json_schema import models_json_schema

from sanpath.model import Table
from sanpath.recording.format.rows import checked_time
from sanpath.recording.storage import checksum


class Document(BaseModel):
    """Base class: unknown keys come from a newer sanpath and are ignored."""

    model_config = ConfigDict(frozen=True)


class File(Document):
    """A document in a separate file that contains a digest of its content."""

    sha256: str = Field(
        default="",
        description="SHA-256 of the file, computed with 64 zeros in this place; empty: the file has no digest",
    )
    _intact: bool | None = PrivateAttr(default=None)

    @property
    def intact(self) -> bool | None:
        """Whether the file is unchanged since it was written, according to its digest. None: it has no digest."""
        return self._intact

    @classmethod
    def decoded(cls, content: bytes) -> Self:
        """Parse the content of a file. Raises ValueError when it is not a valid document of this type."""
        document = cls.model_validate_json(content)
        document._intact = checksum.document_is_intact(content)
        return document

    def encoded(self, fits: bool = True) -> bytes:
        """Return the content of the file to write.

        `fits` False: the digest does not match, because the document had been altered before.
        """
        document = self.model_copy(update={"sha256": checksum.UNSEALED})
        content = (document.model_dump_json(indent=1) + "\n").encode()
        return checksum.sealed_document(content) if fits else content


class Manifest(File):
    """manifest.json: written once, when the recording begins."""

    run_id: str = Field(description="32 hex digits")
    format: int = Field(description="version of the format; a reader refuses a higher number than it knows")
    tool_version: str = Field(description="version of the sanpath that began the recording")
    started: str = Field(description="ISO 8601, UTC")


def _finite(tables: tuple[Table, ...]) -> tuple[Table, ...]:
    if not all(
        math.isfinite(column.scale) and math.isfinite(column.resolution)
        for table in tables
        for column in table.columns
    ):
        raise ValueError("a scale is not a number")
    return tables


Moment = Annotated[int, AfterValidator(checked_time)]


class Declaration(Document):
    """A source with the tables that it may deliver."""

    name: str = Field(description="name of the source, as in the column `source`")
    collector: str
    every_seconds: float = Field(description="time between polls")
    tables: Annotated[tuple[Table, ...], AfterValidator(_finite)]


class Header(File):
    """writers/<writer>.json: written once, when a writer begins."""

    writer: str = Field(default="", description="name of the writer, as in the names of its segments")
    run_id: str = Field(default="", description="run_id of the manifest")
    tool_version: str = ""
    host: str = Field(default="", description="host on which the writer runs")
    recorder: str = Field(
        default="", description="name of the recorder, the same after a restart; empty: the writer is not a recorder"
    )
    started_us: Moment = Field(
        description="wall clock at the creation of the recorder's clock, microseconds since the epoch"
    )
    load_command: list[str] = Field(default=[], description="load command, passwords and keys masked; empty: no load")
    sources: tuple[Declaration, ...] = ()
    plan: str = Field(default="", description="digest of the sweep's plan; empty: no sweep")


class Ending(File):
    """writers/<writer>.end.json: written once, when a writer ends normally; missing: killed, or still writing."""

    ended_us: Moment = Field(description="end of the writer on the recorder's clock, microseconds since the epoch")
    load_exit_code: int | None = Field(description="null: there was no load, or sanpath ended it")
    recorder_cpu_seconds: float
    written: dict[str, int] = Field(default={}, description="table → number of flushes written")
    keep_seconds: float | None = Field(
        default=None, description="retention, after which segments were deleted; null: none was"
    )


def schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a recording's JSON files: an object with their contents by name."""
    models = {model: {"$ref": f"#/$defs/{model.__name__}"} for model in (Manifest, Header, Ending)}
    _, definitions = models_json_schema([(model, "validation") for model in models])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://sanpath.dev/recording-1.schema.json",
        "title": "The JSON files of a sanpath recording, by name",
        "type": "object",
        "properties": {"manifest.json": models[Manifest]},
        "patternProperties": {
            r"^writers/[A-Za-z0-9_.]+(?<!\.end)\.json$": models[Header],
            r"^writers/[A-Za-z0-9_.]+\.end\.json$": models[Ending],
        },
        "required": ["manifest.json"],
        "additionalProperties": False,
        **definitions,
    }
