"""`sanpath report`: write the diagnosis of a recording to a file."""

from __future__ import annotations

from sanpath.cli.options import (
    STANDARD_OUTPUT,
    ClusterOption,
    ConfigOption,
    Format,
    OutputOption,
    PolicyOption,
    Recording,
    RulesOption,
    SuffixFormatOption,
    choice,
    format_of,
)


def report(
    recording: Recording,
    into: OutputOption = STANDARD_OUTPUT,
    form: SuffixFormatOption = None,
    rules: RulesOption = None,
    policy: PolicyOption = None,
    config: ConfigOption = None,
    cluster: ClusterOption = None,
) -> None:
    """Write the report of a recording, in the format of the named file, or as Markdown."""
    from sanpath.cli.output import check_choice, diagnosis_of, note_growth, render_diagnosis, write

    note_growth(recording, "The test", "running: this is the report so far", is_text=False)
    diagnosis = diagnosis_of(recording, check_choice(choice(rules, config, policy)), cluster)
    write(render_diagnosis(diagnosis, format_of(form, into, Format.markdown), recording), into, "report")
