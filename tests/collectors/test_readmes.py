"""A collector's declarations, its README and the catalogue say the same."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sanpath import registry
from sanpath.catalogue.catalogue import metrics, planes
from sanpath.docgen.collector_readme import collectors, render
from sanpath.docgen.markdown import with_sections
from sanpath.plugin import Spec

ROOT = Path(__file__).parents[2]
HEADINGS = ["What it reads", "Access rights", "Load on the device", "Configuration", "Metrics", "Example"]
BUILT_IN = [pytest.param(spec, folder, id=spec.name) for spec, folder in collectors()]


@pytest.mark.parametrize(("spec", "folder"), BUILT_IN)
def test_readme_is_up_to_date(spec: Spec, folder: Path) -> None:
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert with_sections(readme, render(spec)) == readme, "run python -m sanpath.docgen.collector_readme"
    assert re.findall(r"^## (.+)$", readme, re.MULTILINE) == HEADINGS


@pytest.mark.parametrize(("spec", "folder"), BUILT_IN)
def test_every_column_is_in_the_catalogue(spec: Spec, folder: Path) -> None:
    assert spec.name == folder.name
    for table in spec.tables:
        known = metrics()[table.kind]
        for column in table.columns:
            assert column.metric in known, f"{table.kind}: {column.metric}"
            assert (known[column.metric].kind == "counter") == bool(column.bits), column.metric
        assert table.plane is None or table.plane in planes()


@pytest.mark.parametrize(("spec", "folder"), BUILT_IN)
def test_examples_in_docstrings_hold(spec: Spec, folder: Path) -> None:
    for path in sorted(folder.glob("*.py")):
        module = importlib.import_module(f"sanpath_collectors.{spec.name}.{path.stem}")
        assert doctest.testmod(module).failed == 0, path.name


def test_readme_shows_configuration_and_metrics_of_the_collector() -> None:
    sections = render(registry.spec("flasharray"))
    assert "| `verify_tls` | true or false | `true` |" in sections["configuration"]
    assert (
        "| `api_token` | `env:NAME`, `file:PATH` or `keyring:SERVICE/USER` | required |" in sections["configuration"]
    )
    assert "| `san_seconds_read` | gauge | seconds |" in sections["metrics"]
    assert "readonly" in sections["rights"]


def test_a_readme_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="generated: metrics"):
        with_sections("# nothing\n", {"metrics": "| a |"})


@pytest.mark.parametrize("name", ["snmp_switch", "flasharray"])
def test_listing_a_collector_loads_no_protocol_library(name: str) -> None:
    code = (
        f"import sys; import sanpath_collectors.{name}; "
        "print([m for m in ('h11', 'pysnmp', 'yaml') if m in sys.modules])"
    )
    paths = f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'collectors')!r}]; "
    done = subprocess.run([sys.executable, "-c", paths + code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
