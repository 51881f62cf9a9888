"""`sanpath redact`: a copy of a recording that is safe to send to others."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sanpath.cli.options import Recording
from sanpath.recording.storage.store import location

if TYPE_CHECKING:
    from sanpath.diagnosis.model import Verdict
    from sanpath.recording.redaction.redact import Redacted


def redact(
    recording: Recording,
    out: Annotated[Path, typer.Argument(parser=location, metavar="OUT", help="The copy; it must not exist.")],
    key: Annotated[
        Path | None, typer.Option("--key", help="File for the list of pseudonyms and real names; do not send it.")
    ] = None,
) -> None:
    """Copy a recording with its names, addresses and serial numbers replaced, to be sent to others."""
    from sanpath.cli.output import diagnosis_of
    from sanpath.errors import SanpathError
    from sanpath.masking import printable
    from sanpath.recording.redaction.redact import redact as write_redacted

    original = diagnosis_of(recording)
    redacted = write_redacted(recording, out)
    if key is not None:
        _write(key, redacted.pseudonyms.key())
    copied = diagnosis_of(out)
    for name in redacted.left_out:
        typer.echo(f"left out: {printable(name)}")
    for name in redacted.altered:
        typer.echo(f"changed after it was written, which the copy reports as well: {printable(name)}")
    if _limits(original.verdict, redacted) != _limits(copied.verdict, None):
        raise SanpathError(f"{out}: the copy has another verdict than {recording}: please report this")
    count = len(redacted.pseudonyms.key())
    typer.echo(f"{out}: {count} names and addresses replaced; the same verdict, {copied.verdict.kind}")


def _limits(verdict: Verdict, redacted: Redacted | None) -> tuple[object, ...]:
    """The values that must be equal in both verdicts; with pseudonyms for the names if `redacted` is given."""

    def pseudonymous(entity: str) -> str:
        kind, _, name = entity.partition(":")
        return f"{kind}:{redacted.pseudonyms.pseudonymise(name)}" if redacted else entity

    limits = [(pseudonymous(b.entity), b.layer, b.direction, b.utilisation) for b in verdict.bottlenecks]
    step = redacted.pseudonyms.pseudonymise(verdict.from_step) if redacted else verdict.from_step
    return verdict.kind, verdict.grade, step, limits


def _write(file: Path, key: dict[str, str]) -> None:
    from sanpath.errors import UsageError

    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
            json.dump(key, opened, indent=1, ensure_ascii=False)
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}") from error
