"""Recordings that are damaged at random or malformed by hand, and what a diagnosis makes of them."""

from __future__ import annotations

import json
import shutil
import sys
import time
import traceback
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.errors import SanpathError
from tests.fuzz.mutation import WORDS, changed, mutated
from tests.support.stories import recorded

SECONDS = 10.0
"""Of processor time for one diagnosis: a whole one takes less than one."""


def damage(random: Random, folder: Path) -> str:
    """Change one to four files as a disk, a copy or a person would. Returns what was done."""
    done = []
    for _ in range(random.choice((1, 1, 2, 4))):
        path = random.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
        content = path.read_bytes()
        kind = random.choice(("flip", "zero", "cut", "noise", "insert", "remove", "empty"))
        begin = random.randrange(len(content) or 1)
        end = min(len(content), begin + random.choice((1, 16, 512, 4096)))
        match kind:
            case "flip":
                one = begin if begin < len(content) else 0
                bit = 1 << random.randrange(8)
                content = content[:one] + bytes([(content[one] if content else 0) ^ bit]) + content[one + 1 :]
            case "zero":
                content = content[:begin] + bytes(end - begin) + content[end:]
            case "cut":
                content = content[:begin]
            case "noise":
                content = content[:begin] + random.randbytes(end - begin) + content[end:]
            case "insert":
                content = content[:begin] + random.randbytes(9) + content[begin:]
            case "empty":
                content = b""
        if kind == "remove":
            path.unlink()
        else:
            path.write_bytes(content)
        done.append(f"{kind} {path.relative_to(folder)}")
    return ", ".join(done)


def malform(random: Random, folder: Path) -> str:
    """Change a document as an enemy would, or put something where it does not belong."""
    path = random.choice(sorted(folder.rglob("*.json")))
    name = str(path.relative_to(folder))
    kinds = ["value", "value", "text", "folder", "deep", "link"]
    match random.choice([*kinds, "column"] if b"columns" in path.read_bytes() else kinds):
        case "value":
            document = json.loads(path.read_bytes())
            for _ in range(random.choice((1, 2, 4))):
                document = changed(random, document)
            path.write_bytes(json.dumps(document).encode("utf-8", "surrogatepass"))
            return f"value {name}"
        case "text":
            path.write_bytes(mutated(random, [path.read_bytes()]))
            return f"text {name}"
        case "folder":
            path.unlink()
            path.mkdir()
            return f"folder {name}"
        case "deep":
            path.write_text("[" * 100_000)
            return f"deep {name}"
        case "link":
            path.unlink()
            path.symlink_to(random.choice(("/dev/zero", "/etc/hostname", "nowhere", ".")))
            return f"link {name}"
        case _:
            document = json.loads(path.read_bytes())
            for source in document.get("sources", ()) if isinstance(document, dict) else ():
                for table in source["tables"]:
                    for column in table["columns"]:
                        if random.random() < 0.2:
                            column["metric"] = random.choice(WORDS)
            path.write_bytes(json.dumps(document).encode("utf-8", "surrogatepass"))
            return f"column {name}"


def outcome(folder: Path, whole: str) -> str:
    """What comes of a diagnosis; `whole`: the same of the recording before the damage. "defect: …" may not be."""
    began = time.process_time()
    result = CliRunner().invoke(app, ["diagnose", str(folder), "--format", "json", "--fail-on", "never"])
    if time.process_time() - began > SECONDS:
        return "defect: slow"
    error = result.exception
    if isinstance(error, SanpathError):
        return "refused" if error.exit_code == 2 and "\n" not in str(error).strip() else f"defect: {error!r}"
    if error is not None and not isinstance(error, SystemExit):
        last = traceback.extract_tb(error.__traceback__)[-1]
        ours = [f for f in traceback.extract_tb(error.__traceback__) if "/sanpath/" in f.filename]
        last = ours[-1] if ours else last
        return f"defect: {type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {str(error)[:100]}"
    diagnosis = json.loads(result.stdout)
    spoken = words(diagnosis) - words(json.loads(whole))
    if diagnosis["verdict"]["grade"] in ("A", "B") and not spoken:
        return f"silent: grade {diagnosis['verdict']['grade']}"
    return "diagnosed, damage named" if spoken else "diagnosed"


def contents(folder: Path) -> dict[Path, bytes | None]:
    """What is in a folder."""
    return {p.relative_to(folder): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def words(diagnosis: Mapping[str, Any]) -> set[str]:
    """All that a diagnosis says of its data: what nobody observed, what sources gave, whether it is whole."""
    run = {key: value for key, value in diagnosis["run"].items() if key == "complete"}
    return {json.dumps(item) for item in (*diagnosis["unobserved"], *diagnosis["sources"], run)}


def tried(kind: str, numbers: range) -> tuple[Counter[str], dict[str, str]]:
    """Kind of outcome → how often; and what was done to a recording → the defect that it showed."""
    work = {"damaged": damage, "malformed": malform}[kind]
    origin = Path(recorded("published").folder)
    whole = CliRunner().invoke(app, ["diagnose", str(origin), "--format", "json", "--fail-on", "never"]).stdout
    counts: Counter[str] = Counter()
    defects: dict[str, str] = {}
    for number in numbers:
        with TemporaryDirectory() as place:
            folder = Path(shutil.copytree(origin, Path(place) / "r.sanpath"))
            done = work(Random(f"{kind} {number}"), folder)
            # Zeros may have been zeros before.
            found = outcome(folder, whole) if contents(folder) != contents(origin) else "not altered"
        counts[found] += 1
        if found.startswith(("defect", "silent")):
            defects[f"{number}: {done}"] = found
    return counts, defects


if __name__ == "__main__":
    for found in tried(sys.argv[1], range(int(sys.argv[2]), int(sys.argv[3]))):
        print(json.dumps(found, indent=1))
