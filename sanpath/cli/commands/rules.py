"""`sanpath rules`: list the rules, show one, or run their tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from sanpath.rulebook.model import Rule

app = typer.Typer(name="rules", help="List, show and test the rules that judge a recording.", no_args_is_help=True)

Folder = Annotated[str, typer.Option("--rules", help="A folder with rules of your own.", show_default=False)]


@app.command("list")
def list_rules(folder: Folder = "") -> None:
    """List every rule, built in and user-defined."""
    import sys

    from rich.table import Table
    from rich.text import Text

    from sanpath.views.terminal_tables import as_lines

    rules = _rulebook(folder)
    table = Table("rule", "says", "role", "severity", "status", box=None)
    table.columns[0].min_width = max((len(rule.id) for rule in rules), default=0)
    for rule in rules:
        table.add_row(*(Text(cell) for cell in (rule.id, rule.title, rule.role, rule.severity, rule.status)))
    terminal = sys.stdout.isatty()
    # Without a terminal a rule is one line, so that it can be searched for.
    typer.echo(as_lines(table, width=None if terminal else 10_000, colour=terminal), nl=False)
    _coverage(rules)


@app.command()
def show(rule_id: Annotated[str, typer.Argument(metavar="ID")], folder: Folder = "") -> None:
    """Show one rule: condition, limits, why, and what to do."""
    from sanpath.rulebook.rule_files import find_rule

    _show(find_rule(_rulebook(folder), rule_id))


@app.command("test")
def run_tests(
    path: Annotated[str, typer.Argument(help="A rule file or a folder; default: the built-in rules.")] = "",
) -> None:
    """Run the tests of the rules; exit 1 if one fails."""
    from pathlib import Path

    from sanpath.rulebook.rule_files import read_rules
    from sanpath.rulebook.rule_tests import failed_tests
    from sanpath.units import counted

    rules = read_rules(Path(path)) if path else _rulebook("")
    failures = failed_tests(rules)
    for failure in failures:
        typer.echo(str(failure))
    tests = sum(len(rule.tests) for rule in rules)
    _coverage(rules)
    typer.echo(f"{counted(len(rules), 'rule')}, {counted(tests, 'test')}, {len(failures)} failed")
    if failures:
        raise typer.Exit(1)


def _coverage(rules: Sequence[Rule]) -> None:
    """Print the number of rules for each layer, judged entity kind and role, and for each status."""
    from collections import Counter

    from sanpath.rulebook.fact_kinds import LAYERS
    from sanpath.rulebook.model import ROLES, STATUSES

    counts = Counter((rule.each, rule.role) for rule in rules)
    typer.echo(f"{'layer':<12}{'each':<13}" + " ".join(f"{role:>{len(role)}}" for role in ROLES) + "  all")
    for each in sorted({rule.each for rule in rules}, key=list(LAYERS).index):
        numbers = [counts[each, role] for role in ROLES]
        cells = (f"{number or '-':>{len(role)}}" for number, role in zip(numbers, ROLES, strict=True))
        typer.echo(f"{LAYERS[each]:<12}{each:<13}" + " ".join(cells) + f"{sum(numbers):>5}")
    status = Counter(rule.status for rule in rules)
    typer.echo(", ".join(f"{status[name]} {name}" for name in STATUSES if status[name]))


def _rulebook(folder: str) -> tuple[Rule, ...]:
    from pathlib import Path

    from sanpath.rulebook.rule_files import load_rulebook

    return load_rulebook(Path(folder) if folder else None)


def _show(rule: Rule) -> None:
    from rich.padding import Padding
    from rich.text import Text

    def lines(*texts: str) -> None:
        for text in texts:
            _print(Padding(Text(text), (0, 0, 0, 2)))

    def section(title: str, *texts: str) -> None:
        _print(Text(f"\n{title}", style="bold"))
        lines(*texts)

    _print(Text(f"{rule.id}: {rule.title}", style="bold"))
    _print(Text(f"{rule.severity} severity, role {rule.role}, judged on each {rule.each}, {rule.status}"))
    section("Condition", rule.when)
    limits = [f"{name} = {limit.values_text}: {limit.source}" for name, limit in rule.limits.items()]
    section("Limits", *(limits or ["none"]))
    section("Why it matters", rule.why)
    section("When a hit is normal", rule.not_if)
    for fix in rule.fix:
        section(f"What to do: {fix.platform}", fix.scope)
        for command in fix.commands:
            # Not wrapped, so that commands can be copied.
            _print(Text(f"  $ {command}"), soft_wrap=True)
        lines(f"disruption: {fix.disruption}", f"verify: {fix.verify}", f"undo: {fix.undo}")
    section("References", *rule.references)


def _print(renderable: RenderableType, soft_wrap: bool = False) -> None:
    from rich.console import Console

    Console().print(renderable, soft_wrap=soft_wrap)
