"""`sanpath collectors`: the available collectors, and what each needs."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(name="collectors", help="List and show what sanpath can read.", no_args_is_help=True)


@app.command("list")
def list_collectors() -> None:
    """List every collector, built in and installed."""
    from sanpath import registry
    from sanpath.errors import UsageError

    width = max((len(name) for name in registry.names()), default=0)
    for name in registry.names():
        try:
            spec = registry.spec(name)
            title = spec.title
            if spec.extra is not None and spec.extra.missing:
                title += f" (not installed: {spec.extra.command})"
        except UsageError as error:
            title = str(error)
        typer.echo(f"{name:<{width}}  {title}")


@app.command("show", short_help="Show what a collector reads, its keys and rights.")
def show(name: Annotated[str, typer.Argument(metavar="NAME")]) -> None:
    """Show what a collector reads, its configuration and the rights it needs."""
    from sanpath import registry

    spec = registry.spec(name)
    typer.echo(f"{spec.name}: {spec.title}")
    if spec.extra is not None:
        state = f"not installed: {spec.extra.command}" if spec.extra.missing else "installed"
        typer.echo(f"\nNeeds {spec.extra.requirement}, {state}")
    if spec.commands:
        typer.echo(f"\nReads the output of: {', '.join(spec.commands)} (sanpath run -- {spec.commands[0]} …)")
    if spec.config is not None:
        typer.echo("\nConfiguration")
        for key, field in spec.config.model_fields.items():
            unset = field.is_required() or field.default in (None, "")
            default = ("required" if field.is_required() else "optional") if unset else f"default: {field.default}"
            typer.echo(f"  {key}: {field.description or ''} ({default})")
    typer.echo("\nReads")
    metrics: dict[str, dict[str, None]] = {}
    for table in spec.tables:
        metrics.setdefault(table.kind, {}).update(dict.fromkeys(column.metric for column in table.columns))
    for kind, names in metrics.items():
        typer.echo(f"  {kind}: {', '.join(names)}")
    if spec.rights:
        typer.echo("\nRights")
        for right in spec.rights:
            typer.echo(f"  {right.name}: {right.reason}; without it {right.without}")
