"""`sanpath import prometheus`: import the data of a Prometheus-compatible server about a finished test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sanpath.recording.storage.store import location

if TYPE_CHECKING:
    from sanpath.recorder.importing.server_history import ImportedSource, Span

_MAX_NOTES = 20


UrlOption = Annotated[
    str, typer.Option("--url", help="Address of the server, such as https://prometheus.example.com.")
]
IntoOption = Annotated[
    Path,
    typer.Option("--into", parser=location, metavar="PATH", help="Recording; it is created if it does not exist."),
]
FromOption = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="TIME", help="Such as 2026-01-31T14:00:00+01:00; default: start of the recording."
    ),
]
ToOption = Annotated[
    str | None, typer.Option("--to", metavar="TIME", help="In the same form; default: end of the recording.")
]
ProfileOption = Annotated[
    list[str] | None, typer.Option("--profile", help="Exporter to read; default: all that are found.")
]
MatchOption = Annotated[
    str | None, typer.Option("--match", help="Label matchers that select series, such as 'instance=~\"db7:.*\"'.")
]
BearerTokenOption = Annotated[
    str | None, typer.Option("--bearer-token", metavar="REFERENCE", help="env:NAME, file:PATH or keyring:…")
]
UserOption = Annotated[str | None, typer.Option("--user", help="Account for basic authentication.")]
PasswordOption = Annotated[
    str | None, typer.Option("--password", metavar="REFERENCE", help="env:NAME, file:PATH or keyring:…")
]
TenantOption = Annotated[str | None, typer.Option("--tenant", help="Tenant of a shared server (Mimir).")]
CaFileOption = Annotated[
    Path | None, typer.Option("--ca-file", help="PEM file of the authority that signed the server's certificate.")
]
ClientCertificateOption = Annotated[
    Path | None, typer.Option("--client-certificate", help="PEM file of a client certificate, if the server asks.")
]
ClientKeyOption = Annotated[Path | None, typer.Option("--client-key", help="PEM file of its key.")]
TimeoutOption = Annotated[float, typer.Option("--timeout", help="Seconds that one answer may take.")]


def import_prometheus(
    url: UrlOption,
    into: IntoOption,
    began: FromOption = None,
    ended: ToOption = None,
    profile: ProfileOption = None,
    match: MatchOption = None,
    bearer_token: BearerTokenOption = None,
    user: UserOption = None,
    password: PasswordOption = None,
    tenant: TenantOption = None,
    ca_file: CaFileOption = None,
    client_certificate: ClientCertificateOption = None,
    client_key: ClientKeyOption = None,
    timeout: TimeoutOption = 60.0,
) -> None:
    """Add what a Prometheus server collected during a finished test to a recording."""
    from sanpath.config import source_from_keys
    from sanpath.errors import UsageError, command
    from sanpath.recorder.importing.server_history import Span, import_history, recorded_span
    from sanpath.recorder.importing.target_recording import open_recording

    recording = open_recording(into)
    recording_span = recorded_span(recording) if recording is not None else None
    span = Span(
        _epoch_us("--from", began) if began is not None or recording_span is None else recording_span.began_us,
        _epoch_us("--to", ended) if ended is not None or recording_span is None else recording_span.ended_us,
        recording_span.shortest_step_seconds if recording_span is not None else None,
    )
    if span.began_us >= span.ended_us:
        raise UsageError("--to has to be later than --from")
    settings: dict[str, Any] = {
        "name": "prometheus",
        "collector": "prometheus",
        "url": url,
        "profiles": profile or None,
        "match": match,
        "bearer_token": bearer_token,
        "user": user,
        "password": password,
        "tenant": tenant,
        "ca_file": ca_file and str(ca_file),
        "client_certificate": client_certificate and str(client_certificate),
        "client_key": client_key and str(client_key),
        "timeout_seconds": timeout,
        "step_seconds": span.shortest_step_seconds or (span.ended_us - span.began_us) / 1e6,
    }
    config = source_from_keys({key: value for key, value in settings.items() if value is not None})
    for imported in import_history(config, into, span, url):
        typer.echo(_summary(imported, span))
    typer.echo(command("diagnose", into), err=True)


def _summary(imported: ImportedSource, span: Span) -> str:
    """What was imported from one source, and the remarks about it."""
    from sanpath.cli.sessions.import_progress import utc_text

    lines = [f"{imported.source}: {imported.rows:,} samples"]
    if imported.first is not None and imported.last is not None:
        lines[0] += f", {utc_text(imported.first)} to {utc_text(imported.last)} UTC"
        if imported.first - span.began_us > 0.5 * (span.ended_us - span.began_us):
            lines.append("  note: it has no samples from the first half of that time")
    lines += [f"  note: {text}" for text in list(dict.fromkeys(imported.remarks))[:_MAX_NOTES]]
    return "\n".join(lines)


def _epoch_us(option: str, text: str | None) -> int:
    """Microseconds since the epoch. Raises UsageError for a missing or malformed time."""
    from sanpath.errors import UsageError
    from sanpath.recorder.importing.placement.placement import parse_epoch_us

    if text is None:
        raise UsageError(f"{option} is needed: the recording does not contain the time of the test")
    return parse_epoch_us(option, text)
