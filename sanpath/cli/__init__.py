"""The command line: one command a module, nothing heavy imported before it is needed (completion runs this too)."""

from __future__ import annotations

import sys

import typer

from sanpath.cli import (
    check,
    collectors,
    compare,
    demo,
    diagnose,
    import_file,
    init,
    lab,
    redact,
    report,
    rules,
    run,
    sweep,
    topology,
    watch,
    whatif,
)
from sanpath.errors import ExitCode, SanpathError

app = typer.Typer(
    name="sanpath",
    help="Says where the bottleneck of a storage load test is, why, and what to do, while the test runs.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("init")(init.init)
app.command("check")(check.check)
app.command("run", context_settings={"ignore_unknown_options": False})(run.run)
app.add_typer(import_file.app, name="import")
app.command("watch")(watch.watch)
app.command("diagnose")(diagnose.diagnose)
app.command("report")(report.report)
app.command("topology")(topology.topology)
app.command("redact")(redact.redact)
app.command("whatif")(whatif.whatif)
app.command("compare")(compare.compare)
app.command("sweep")(sweep.sweep)
app.command("demo")(demo.demo)
app.add_typer(rules.app, name="rules")
app.add_typer(collectors.app, name="collectors")
app.add_typer(lab.app, name="lab")


def main() -> None:
    """Entry point. An error that sanpath raises on purpose is one line and an exit code, never a traceback."""
    try:
        app()
    except SanpathError as error:
        print(f"sanpath: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): nothing is left to be said.
        sys.stderr.close()
        sys.exit(0)
