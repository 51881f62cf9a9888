"""`sanpath watch`: show a recording, on this or another machine, while it grows or after it has ended."""

from __future__ import annotations

from sanpath.cli.options import ConfigOption, PlainOption, PolicyOption, Recording, RulesOption, choice


def watch(
    recording: Recording,
    plain: PlainOption = False,
    rules: RulesOption = None,
    policy: PolicyOption = None,
    config: ConfigOption = None,
) -> None:
    """Show what limits a load test under way. It only reads, and adds the marks that you set."""
    from sanpath.cli.output import check_choice
    from sanpath.cli.sessions import live
    from sanpath.recording.format.layout import read_manifest

    read_manifest(recording)
    chosen = check_choice(choice(rules, config, policy))
    if not plain and live.is_usable():
        live.show(recording, chosen)
        return
    import asyncio

    from sanpath.cli.sessions.child_process import environment
    from sanpath.views.live.plain_lines import print_lines

    asyncio.run(print_lines(recording, chosen, environment()))
