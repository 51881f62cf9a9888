"""The house rules that a machine can keep: layout, direction of imports, size, declared metrics, clean files."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from sanpath import registry
from sanpath.catalogue import catalogue

ROOT = Path(__file__).parents[1]
CODE = ("sanpath", "collectors/sanpath_collectors", "rules/sanpath_rules", "lab/sanpath_lab", "lab/sanpath_testbed")


def modules(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


@cache
def source(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def tree(path: Path) -> ast.Module:
    """Parsed again each time: the trees of all modules are millions of objects, and slow down everything after."""
    return ast.parse(source(path))


@cache
def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return found


def test_imports_go_one_way() -> None:
    """The contracts stand in pyproject.toml: import-linter keeps them."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_only_the_recording_opens_duckdb() -> None:
    users = {str(path.relative_to(ROOT)) for path in modules(*CODE) if "duckdb.connect" in source(path)}
    assert users == {"sanpath/recording/storage/duck.py"}


COMPOSES_SQL = {
    "sanpath/facts/samples/clock_offsets.py",
    "sanpath/facts/time/placement.py",
    "sanpath/facts/samples/sample_arrays.py",
    "sanpath/recorder/importing/files/imported_file.py",
    "sanpath/recording/reading/recording.py",
    "sanpath/recording/reading/sample_cache.py",
    "sanpath/recording/reading/tail.py",
    "sanpath/recording/redaction/redact.py",
    "sanpath/recording/storage/duck.py",
    "sanpath/recording/writing/writer.py",
}
"""Whatever is added here has to quote each name and text it takes (sanpath/recording/storage/duck.py)."""


def test_sql_is_put_together_in_few_places() -> None:
    """Everywhere else a query is a text that stands in the source, and what varies is a parameter."""
    found = set()
    for path in (path for path in modules(*CODE) if "duckdb" in source(path)):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                queries = node.func.attr in {"execute", "executemany", "sql", "query"}
                if queries and not isinstance(node.args[0], ast.Constant):
                    found.add(str(path.relative_to(ROOT)))
    assert found | {"sanpath/recording/storage/duck.py"} == COMPOSES_SQL


def test_no_path_of_a_segment_becomes_a_column() -> None:
    """DuckDB reads columns out of folders called name=value unless it is told not to."""
    for path in (path for path in modules(*CODE) if "read_parquet(" in source(path)):
        module = tree(path)
        parts = {id(part) for node in ast.walk(module) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(module):
            if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in parts:
                text = ast.unparse(node)
                calls, result = text.count("read_parquet("), text.count("{PARQUET}")
                assert result >= calls, f"{path.relative_to(ROOT)}:{node.lineno}"


def test_the_lab_uses_nothing_of_the_analysis() -> None:
    """The contracts in pyproject.toml forbid the other direction."""
    for path in modules("lab/sanpath_lab", "examples/real-lab"):
        packages = {name.split(".")[0] for name in imports(path)}
        assert not {p for p in packages if p.startswith("sanpath")} - {"sanpath_lab"}, path


def test_the_test_bed_stands_between_and_is_used_by_nobody() -> None:
    """It may ask the collectors, read a diagnosis, and run what a probe orders, as the command line does.

    What the analysis computes in between is not its business.
    """
    allowed = re.compile(
        r"sanpath(\.(__version__|registry|config|errors|model|plugin|recording|diagnose|dask_cluster|probe|sweep|whatif|diagnosis\.(model|experiment))\b|$)"
        r"|sanpath_(lab|testbed)\b"
    )
    for path in modules("lab/sanpath_testbed"):
        for name in imports(path):
            if name.startswith("sanpath"):
                assert allowed.match(name), f"{path.relative_to(ROOT)} imports {name}"


def test_collectors_import_only_what_they_may() -> None:
    allowed = re.compile(r"sanpath\.(plugin|model|errors)\b|sanpath_collectors\b")
    for path in modules("collectors/sanpath_collectors"):
        for name in imports(path):
            if name.startswith("sanpath"):
                assert allowed.match(name), f"{path.relative_to(ROOT)} imports {name}"


EXTRAS = {
    "aiohttp",
    "asyncssh",
    "cryptography",
    "distributed",
    "fsspec",
    "prometheus_client",
    "purestorage",
    "pyVmomi",
    "s3fs",
    "textual",
}
"""Libraries that the smallest install leaves out."""
IMPORT_EXTRAS = {
    "sanpath.recorder.loads.remote",
    "sanpath.recorder.loads.remote_shell",
    "sanpath.transport.ssh.host_keys",
    "sanpath.transport.ssh.login",
    "sanpath.transport.ssh.session",
    "sanpath.views.live.app",
    "sanpath.views.prometheus.exporter",
    "sanpath.views.prometheus.exposition",
    "sanpath_lab.certificate",
    "sanpath_lab.vcenter.esxcli",
    "sanpath_lab.vcenter.inventory",
    "sanpath_lab.vcenter.performance",
    "sanpath_lab.vcenter.server",
    "sanpath_lab.vcenter.service",
    "sanpath_lab.vcenter.soap",
    "sanpath_lab.vcenter.types",
}
"""Modules that cannot be imported without one of them: all others import these inside a function."""


def imports_at_start(path: Path) -> set[str]:
    """What importing a module imports: not what stands in functions, or for type checkers alone."""
    pending: list[ast.stmt] = list(tree(path).body)
    found = set()
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.ClassDef | ast.Try | ast.With):
            pending += node.body
        elif isinstance(node, ast.If) and ast.unparse(node.test) != "TYPE_CHECKING":
            pending += [*node.body, *node.orelse]
    return found


def test_the_smallest_install_imports_no_extra() -> None:
    folders = [folder for folder in CODE if folder != "rules/sanpath_rules"]
    dotted = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in modules(*folders)}
    at_start = {
        name.removeprefix("collectors.").removeprefix("lab."): imports_at_start(path)
        for path, name in dotted.items()
        if not name.startswith("sanpath.docgen")
    }
    need = {name for name, found in at_start.items() if {text.split(".")[0] for text in found} & EXTRAS}
    while more := {name for name, found in at_start.items() if found & need} - need:
        need |= more
    assert need == IMPORT_EXTRAS


def test_the_engine_names_no_vendor() -> None:
    vendors = re.compile(r"\b(brocade|cisco|mds|pure storage|purity|flasharray|netapp|emc|hitachi)\b", re.IGNORECASE)
    for path in (*modules("sanpath"), *(ROOT / "sanpath").rglob("*.yaml")):
        for number, line in enumerate(source(path).splitlines(), start=1):
            # The description of a rule field gives examples of platforms to whoever writes rules.
            if "e.g." not in line:
                assert not vendors.search(line), f"{path.relative_to(ROOT)}:{number}: {line.strip()}"


def test_modules_stay_small() -> None:
    lengths = {path: len(source(path).splitlines()) for path in modules(*CODE, "tests")}
    lengths = {path: length for path, length in lengths.items() if length > 0}
    assert max(lengths.values()) <= 500, max(lengths, key=lambda p: lengths[p])
    assert statistics.median(lengths[path] for path in lengths.keys() & {*modules(*CODE)}) < 120


def test_plain_folders_have_no_package_file() -> None:
    assert not (ROOT / "collectors" / "__init__.py").exists()
    assert not (ROOT / "rules" / "__init__.py").exists()


@pytest.mark.parametrize("name", registry.names())
def test_collectors_declare_only_metrics_of_the_catalogue(name: str) -> None:
    spec = registry.spec(name)
    assert spec.name == name
    for table in spec.tables:
        assert table.kind in catalogue.kinds()
        assert table.plane is None or table.plane in catalogue.planes()
        for column in table.columns:
            metric = catalogue.metrics()[table.kind].get(column.metric)
            assert metric is not None, f"{name} emits {table.kind}.{column.metric}, which the catalogue does not know"
            assert (metric.kind == "counter") == bool(column.bits), f"{table.kind}.{column.metric}"


@pytest.mark.parametrize("name", registry.names())
def test_a_collector_has_its_papers_and_a_case(name: str) -> None:
    folder = ROOT / "collectors/sanpath_collectors" / name
    assert (folder / "README.md").exists()
    assert (folder / "parse.py").exists()
    assert any((ROOT / "tests/collectors" / name).iterdir())


def test_every_public_thing_is_documented_once() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "sanpath.docgen", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def test_lock_files_hold_no_addresses() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    assert "index" not in lock.replace("--hash", "")
    assert "--hash=sha256:" in lock


def test_tracked_files_are_small_text() -> None:
    for path in tracked():
        assert path.stat().st_size < 1_000_000, path
        assert path.suffix not in {".parquet", ".pyc", ".whl", ".sanpath"}, path


NOT_NAMES = {"told", "said", "says", "tell", "tells", "thing", "things", "tie", "ties", "stays", "beside", "mine"}
"""Words that say nothing to a storage engineer; docs/glossary.md has those that do."""
CONTRACT_NAMES = {"said", "clock_told_by"}
"""Fields of the JSON contract, which programs read."""


def identifiers(module: ast.AST) -> Iterator[tuple[str, int]]:
    """What a module names itself, with the line: definitions, arguments, variables, fields."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno


@pytest.mark.parametrize("folder", [*CODE, "examples", "tests"])
def test_names_are_words_of_the_field(folder: str) -> None:
    """The name of a test is a sentence, which may have any word."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in modules(folder)
        for name, line in identifiers(tree(path))
        if name not in CONTRACT_NAMES and not name.startswith("test_")
        if NOT_NAMES & set(name.lower().strip("_").split("_"))
    ]
    assert not found, "\n".join(found)


JUDGES = ("facts", "pulse", "verdict", "probe", "whatif", "explanation", "summary", "comparison")
UNITS = {"_MINUTE_SECONDS", "_GIGABYTE", "_KIB", "_MONTH_DAYS"}
"""Constants that only give a number its unit."""


def is_number(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.UnaryOp(operand=operand):
            return is_number(operand)
        case ast.BinOp(left=left, right=right):
            return is_number(left) and is_number(right)
        case ast.Tuple(elts=elements):
            return bool(elements) and all(map(is_number, elements))
    return False


def test_every_threshold_has_a_docstring() -> None:
    """It says what the threshold is, and its source: a document, a measurement, or sanpath's own choice."""
    found = []
    for path in modules(*(f"sanpath/{folder}" for folder in JUDGES)):
        for node, following in pairwise([*tree(path).body, ast.Pass()]):
            is_threshold = isinstance(node, ast.Assign) and is_number(node.value)
            if is_threshold and not (isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)):
                found.append(f"{path.relative_to(ROOT)}: {ast.unparse(node)}")
    assert [text for text in found if not any(f" {unit} = " in text for unit in UNITS)] == []


def test_the_glossary_names_what_the_code_has() -> None:
    sources = [source(path) for path in modules("sanpath")]
    for term in catalogue.glossary():
        if term.code:
            assert any(re.search(rf"\b{re.escape(term.code)}\b", text) for text in sources), term.term
