"""`sanpath report`: write the diagnosis of a recording to a file."""

from __future__ import annotations

from sanpath.cli.options import (
    STANDARD_OUTPUT,
    ClusterOption,
    ConfigOption,
    Format,
    FormatOption,
    OutputOption,
    PolicyOption,
    Recording,
    RulesOption,
    choice,
)


def report(
    recording: Recording,
    into: OutputOption = STANDARD_OUTPUT,
    form: FormatOption = Format.markdown,
    rules: RulesOption = None,
    policy: PolicyOption = None,
    config: ConfigOption = None,
    cluster: ClusterOption = None,
) -> None:
    """Write the report of a recording, as Markdown unless another format is asked for."""
    from sanpath.cli.output import diagnosis_of, rendered, write

    diagnosis = diagnosis_of(recording, choice(rules, config, policy), cluster)
    write(rendered(diagnosis, form, recording), into, "report")
