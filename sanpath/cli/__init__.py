"""The command line: one command per module; nothing heavy is imported early, because completion runs this too."""

from __future__ import annotations

import contextlib
import errno
import gc
import sys
from typing import Annotated, cast

import typer

from sanpath import __version__
from sanpath.cli.commands import (
    check,
    collectors,
    compare,
    diagnose,
    init,
    probe,
    redact,
    report,
    rules,
    run,
    sweep,
    topology,
    watch,
    whatif,
)
from sanpath.cli.commands.import_results import import_file
from sanpath.cli.commands.simulation import demo, lab
from sanpath.errors import ConfigMistakesError, ExitCode, InterruptedByUserError, SanpathError
from sanpath.masking import printable_lines

app = typer.Typer(
    name="sanpath",
    help="Finds the bottleneck of a storage load test while it runs, and says why and what to do.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"sanpath {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Take the options that belong to no command; `--version` has been handled before this runs."""


app.command("init", short_help="Write a sanpath.yaml, by asking or as an example.")(init.init)
app.command("check", short_help="Try every source: login, clock, rights, cost of a poll.")(check.check)
app.command("run", short_help="Record a load test, and show what limits it.")(run.run)
app.add_typer(import_file.app, name="import", short_help="Add results of other tools to a recording.")
app.command("watch", short_help="Follow a load test that is under way.")(watch.watch)
app.command("diagnose", short_help="Show where the bottleneck of a recording is.")(diagnose.diagnose)
app.command("report", short_help="Write the report of a recording.")(report.report)
app.command("topology", short_help="Show the I/O paths, and what could not be joined.")(topology.topology)
app.command("redact", short_help="Copy a recording without names and addresses.")(redact.redact)
app.command("whatif", short_help="Predict a run with another configuration.")(whatif.whatif)
app.command("compare", short_help="Show what changed between two runs or more.")(compare.compare)
app.command("sweep", short_help="Run a matrix of loads, and find the knee.")(sweep.sweep)
app.command("probe", short_help="Prove what limits: vary the load, judge each step.")(probe.probe)
app.command("demo", short_help="Run a load test against a simulated SAN, and report.")(demo.demo)
app.add_typer(rules.app, name="rules")
app.add_typer(collectors.app, name="collectors")
app.add_typer(lab.app, name="lab")


_GARBAGE_OBJECTS = 20_000
"""New objects that trigger garbage collection. Python's 700 would take a tenth of a command's start."""


_WrongUsage = cast("type[Exception]", typer.BadParameter.__mro__[1])
"""UsageError of click, which newer releases of typer contain and older ones import."""


def _print_wrong_usage(error: BaseException) -> None:
    """Print what is wrong with an option or argument, and where the right ones are; the help if nothing was given."""
    message, context = str(getattr(error, "format_message", error.__str__)()), getattr(error, "ctx", None)
    if message.startswith("Usage:"):
        print(message, file=sys.stderr)
        return
    command = context.command_path if context is not None else "sanpath"
    line = " ".join(message.replace("Value error, ", "").rstrip(".").split())
    print(f"sanpath: {line[:1].lower()}{line[1:]}; see {command} --help", file=sys.stderr)


_REMEDIES = {
    errno.EACCES: "use an account that may do this, or choose another place",
    errno.EPERM: "use an account that may do this, or choose another place",
    errno.EROFS: "choose another place",
    errno.ENOSPC: "free space there, or choose another place",
    errno.EDQUOT: "free space there, or choose another place",
    errno.ENAMETOOLONG: "choose a shorter name",
}
"""Operating system error → what to do about it."""


def _operating_system_words(error: OSError) -> str:
    """The place of an operating system error, the problem and the remedy."""
    # If an open file cannot be written, the error does not name it.
    place = error.filename or ("the output" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "")
    problem = error.strerror or str(error) or type(error).__name__
    remedy = _REMEDIES.get(error.errno or 0, "check this path or address")
    return ": ".join(str(part) for part in (place, f"{problem[:1].lower()}{problem[1:]}; {remedy}") if part)


_DUCKDB_INTERRUPTED = "Query interrupted"
"""DuckDB's RuntimeError after Ctrl-C during a query."""
_NO_HOME = "Could not determine home directory."
"""pathlib's RuntimeError for an account without one, as in a container with a number for a user."""


def main() -> None:
    """Entry point. A user's mistake, an operating system error, or another expected error is one line and an exit
    code, never a traceback."""
    gc.set_threshold(_GARBAGE_OBJECTS)
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code)
    except _WrongUsage as error:
        _print_wrong_usage(error)
        sys.exit(ExitCode.USAGE)
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(ExitCode.INTERRUPTED)
    except InterruptedByUserError as error:
        start = "\n" if sys.stderr.isatty() else ""  # A terminal shows ^C behind the question.
        print(f"{start}sanpath: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except RuntimeError as error:
        if str(error) == _DUCKDB_INTERRUPTED:
            sys.exit(ExitCode.INTERRUPTED)
        if str(error) != _NO_HOME:
            raise
        print("sanpath: this account has no home directory; set HOME to a folder", file=sys.stderr)
        sys.exit(ExitCode.USAGE)
    except SanpathError as error:
        for mistake in error.mistakes if isinstance(error, ConfigMistakesError) else (error,):
            print(f"sanpath: {printable_lines(str(mistake))}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): nothing can be printed.
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        print(f"sanpath: {printable_lines(_operating_system_words(error))}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:  # Python would try again at its exit, and report that.
            with contextlib.suppress(OSError):
                sys.stdout.close()
        sys.exit(ExitCode.USAGE)
