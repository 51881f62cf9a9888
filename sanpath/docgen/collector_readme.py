"""The tables in a collector's README, from its configuration, its rights, its tables and the catalogue.

`python -m sanpath.docgen.collector_readme` writes them between the markers of every collector's README.md;
with --check it only says which ones are stale, and ends with 1 if any is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import sanpath_collectors
from sanpath import registry
from sanpath.catalogue.catalogue import metrics
from sanpath.config_keys import SECRET, ConfigKey, keys_of
from sanpath.docgen.markdown import with_sections
from sanpath.plugin import Spec

_SECRET = "`env:NAME`, `file:PATH` or `keyring:SERVICE/USER`"  # noqa: S105 - the forms of a reference


def collectors() -> Iterator[tuple[Spec, Path]]:
    """Every built-in collector with its folder, by name."""
    root = Path(sanpath_collectors.__path__[0])
    for name in registry.names():
        if (root / name).is_dir():
            yield registry.spec(name), root / name


def render(spec: Spec) -> dict[str, str]:
    """Section name → Markdown: "rights", "configuration" and "metrics"."""
    return {
        "rights": _rights(spec),
        "configuration": _configuration(spec),
        "metrics": _metrics(spec),
    }


def _rights(spec: Spec) -> str:
    if not spec.rights:
        return "None beyond those of the person who runs sanpath."
    rows = [(right.name, right.reason, right.without) for right in spec.rights]
    return _table(("right", "for", "without it"), rows)


def _configuration(spec: Spec) -> str:
    if spec.config is None:
        options = ["the command after `sanpath run --`"] if spec.load else []
        options += ["the file given to `sanpath import`"] if spec.result else []
        return f"None: it is chosen by {' or by '.join(options)}."
    rows = [
        (f"`{key.name}`", _SECRET if key.type == SECRET else key.type, _default(key), key.meaning)
        for key in keys_of(spec.config)
    ]
    return _table(("key", "type", "default", "meaning"), rows)


def _default(key: ConfigKey) -> str:
    if key.required:
        return "required"
    return f"`{key.default}`" if key.default else ""


def _metrics(spec: Spec) -> str:
    counter_widths: dict[str, dict[str, list[str]]] = {}
    for table in spec.tables:
        for column in table.columns:
            widths = counter_widths.setdefault(table.kind, {}).setdefault(column.metric, [])
            widths.append(f"{column.bits} bits" if column.bits else "")
    return "\n\n".join(f"`{kind}`\n\n{_metric_table(kind, columns)}" for kind, columns in counter_widths.items())


def _metric_table(kind: str, columns: dict[str, list[str]]) -> str:
    declared = metrics()[kind]
    rows = []
    for name, widths in columns.items():
        width = " or ".join(dict.fromkeys(filter(None, widths)))
        metric = declared[name]
        rows.append((f"`{name}`", f"{metric.kind}, {width}" if width else metric.kind, metric.unit, metric.meaning))
    return _table(("metric", "kind", "unit", "meaning"), rows)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def write(check_only: bool) -> list[Path]:
    """Bring the READMEs up to date. Returns those that were stale; with `check_only` they are left as they are."""
    stale = []
    for spec, folder in collectors():
        path = folder / "README.md"
        before = path.read_text(encoding="utf-8")
        after = with_sections(before, render(spec))
        if after != before:
            stale.append(path)
            if not check_only:
                path.write_text(after, encoding="utf-8")
    return stale


if __name__ == "__main__":
    only_check = "--check" in sys.argv[1:]
    for stale_file in (files := write(only_check)):
        print("stale:" if only_check else "written:", stale_file)
    sys.exit(bool(files) and only_check)
