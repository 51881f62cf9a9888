"""`sanpath import`: add the result of a load generator, or a host's counter log, to a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sanpath.cli.commands.import_results.import_prometheus import import_prometheus
from sanpath.recording.storage.store import location

_MAX_SECONDS = 100 * 366 * 86_400.0
"""A century: the largest accepted clock offset."""


class _FileFirst(TyperGroup):
    """Takes a first argument that is not a command as a file: `sanpath import FILE` is `import file FILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the command before its arguments. `Any`: typer keeps its copy of click private."""
        if args and args[0] not in (*self.commands, "--help"):
            args = ["file", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_FileFirst,
    no_args_is_help=True,
    help="Add results of other tools to a recording. `sanpath import FILE` adds a result file (see `import file`), "
    "`sanpath import prometheus` a time range of a Prometheus server.",
)


FilesArgument = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Result files, also packed, or archives of them: zip, tar.")
]
IntoOption = Annotated[
    Path | None,
    typer.Option(
        "--into",
        parser=location,
        metavar="PATH",
        help="Recording, finished or still running; default: a new one, named after the first file.",
    ),
]
MarkOption = Annotated[
    list[str] | None,
    typer.Option("--mark", help="Step of the recording in which the file's load ran; one for each load in the file."),
]
AtOption = Annotated[
    str | None,
    typer.Option("--at", help="When the first load in a file without times began: 2026-01-31T14:00:00+01:00."),
]
UtcOffsetOption = Annotated[
    str | None,
    typer.Option("--utc-offset", metavar="ZONE", help="Time zone of a file that has none: +02:00 or Europe/Berlin."),
]
ClockBehindOption = Annotated[
    float, typer.Option("--clock-behind", metavar="SECONDS", help="Seconds by which the file's clock was behind.")
]
HostOption = Annotated[
    str | None, typer.Option("--host", help="Machine that wrote the file; default: the only one of the recording.")
]
NameOption = Annotated[str | None, typer.Option("--name", help="Name of the load; default: name of its reader.")]
TopologyOption = Annotated[Path | None, typer.Option("--config", help="A sanpath.yaml, for its topology section.")]
ReaderOption = Annotated[
    str | None, typer.Option("--reader", help="Collector that reads the file, if its content does not show it.")
]


@app.command("file", short_help="Add a result file of a load or a host.")
def import_file(
    files: FilesArgument,
    into: IntoOption = None,
    mark: MarkOption = None,
    at: AtOption = None,
    utc_offset: UtcOffsetOption = None,
    behind: ClockBehindOption = 0.0,
    host: HostOption = None,
    name: NameOption = None,
    config: TopologyOption = None,
    reader: ReaderOption = None,
) -> None:
    """Add a result file of a load generator or a host to a recording, at the time when it was measured."""
    from sanpath.cli.commands.import_results.file_imports import FileImports
    from sanpath.config import Config, load_config
    from sanpath.errors import UsageError

    for file in files:
        if not file.is_file():
            raise UsageError(f"{file}: {'is not a file' if file.exists() else 'there is no such file'}")
    if not abs(behind) <= _MAX_SECONDS:
        raise UsageError(f"--clock-behind {behind:g}: write seconds, at most {_MAX_SECONDS:,.0f}")
    folder = into if into is not None else _new_recording(files[0])
    if isinstance(folder, Path) and folder.is_file():
        raise UsageError(f"{folder}: is a file, not a recording")
    configuration = load_config(config) if config is not None else Config(None)
    FileImports(
        folder,
        [*configuration.entities, *configuration.links],
        reader=reader,
        name=name,
        host=host,
        marks=mark or (),
        at=at,
        utc_offset=utc_offset,
        behind_seconds=behind,
    ).run(files)


def _new_recording(file: Path) -> Path:
    """The recording named after a file. Raises UsageError if it exists: nothing is added to one that is not named."""
    from sanpath.errors import UsageError

    folder = Path(f"{file.name.partition('.')[0]}.sanpath")
    if folder.exists():
        raise UsageError(f"{folder}: is there already; to add to it: --into {folder}; else name another recording")
    return folder


app.command("prometheus", short_help="Add what a Prometheus server collected.")(import_prometheus)
