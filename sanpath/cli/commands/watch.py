"""`sanpath watch`: look at a recording, one's own or another's, while it grows or after it has ended."""

from __future__ import annotations

from sanpath.cli.options import ConfigOption, PlainOption, PolicyOption, Recording, RulesOption, choice


def watch(
    recording: Recording,
    plain: PlainOption = False,
    rules: RulesOption = None,
    policy: PolicyOption = None,
    config: ConfigOption = None,
) -> None:
    """Show what limits a load test that is under way; who records it notices nothing, and only marks are added."""
    from sanpath.cli.output import checked
    from sanpath.cli.sessions import live
    from sanpath.recording.format.layout import read_manifest

    read_manifest(recording)
    chosen = checked(choice(rules, config, policy))
    if live.fits() and not plain:
        live.show(recording, chosen)
        return
    import asyncio

    from sanpath.cli.sessions.child_process import environment
    from sanpath.views.live.plain_lines import tell

    asyncio.run(tell(recording, chosen, environment()))
