"""`sanpath diagnose`: judge a recording."""

from __future__ import annotations

import typer

from sanpath.cli.options import (
    ClusterOption,
    ConfigOption,
    FailOn,
    FailOnOption,
    Format,
    FormatOption,
    PolicyOption,
    Recording,
    RulesOption,
    choice,
)


def diagnose(
    recording: Recording,
    form: FormatOption = Format.text,
    fail_on: FailOnOption = FailOn.never,
    rules: RulesOption = None,
    policy: PolicyOption = None,
    config: ConfigOption = None,
    cluster: ClusterOption = None,
) -> None:
    """Show where the bottleneck of a recorded load test is, why, and what to do."""
    from sanpath.cli.output import check_choice, diagnosis_of, exit_code, note_growth, render_diagnosis

    note_growth(recording, "The test", "running: this is the verdict so far", form is Format.text)
    diagnosis = diagnosis_of(recording, check_choice(choice(rules, config, policy)), cluster)
    typer.echo(render_diagnosis(diagnosis, form, recording), nl=False)
    raise typer.Exit(exit_code(diagnosis, fail_on))
