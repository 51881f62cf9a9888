"""Which of a story's files carry a claim: each file is left out in turn, and the claims are checked again.

A claim that no file carries would hold whatever was measured: its check cannot fail.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from shutil import copytree
from typing import Any

from examples.claims import Results, check
from examples.stories import import_files, read_story
from sanpath.comparison.compare import compare
from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis
from sanpath.recording.reading.recording import Recording
from sanpath.views import json as json_view

Options = Mapping[str, Any]


def carriers(name: str) -> list[list[str]]:
    """Return the inputs that each claim of a story names in `from` and without which it does not hold.

    An input is an imported file, the files of one import, or a topology. Claims are in the order of story.yaml.
    Raises ValueError: a claim does not hold with all of them either.
    """
    story = read_story(name)
    claims, recordings = story["claims"], story["recordings"]
    fallen: set[tuple[int, str]] = set()
    with tempfile.TemporaryDirectory() as folder:
        diagnoses = {recording: _diagnosis(name, Path(folder), imports) for recording, imports in recordings.items()}
        with_all = _results(story, diagnoses)
        if untrue := [claim["claim"] for claim in claims if not _holds(claim, with_all)]:
            raise ValueError(f"{name}: {untrue[0]}: does not hold")
        for label in dict.fromkeys(label for claim in claims for label in claim.get("from", ())):
            remaining = diagnoses | {
                recording: _diagnosis(name, Path(folder), without(imports, label))
                for recording, imports in recordings.items()
                if label in _labels(imports)
            }
            results = _results(story, remaining)
            fallen |= {(n, label) for n, claim in enumerate(claims) if not _holds(claim, results)}
    return [[label for label in claim.get("from", ()) if (n, label) in fallen] for n, claim in enumerate(claims)]


def without(imports: Sequence[Options], label: str) -> list[Options]:
    """Return the imports of a recording without one input. A topology moves to the first import that remains."""
    config = next((options["config"] for options in imports if "config" in options), None)
    remaining = [dict(options) for options in imports if _label(options) != label]
    for options in remaining:
        options.pop("config", None)
    if remaining and config not in (None, label):
        remaining[0]["config"] = config
    return remaining


def _labels(imports: Sequence[Options]) -> Iterator[str]:
    yield from (_label(options) for options in imports)
    yield from (options["config"] for options in imports if "config" in options)


def _label(options: Options) -> str:
    """Return the name of an import: its file; the folder of several files, or the first and the last of them."""
    files = options["file"]
    if isinstance(files, str):
        return files
    folder = Path(files[0]).parent.name
    return f"{folder}/" if folder else f"{files[0]} to {files[-1]}"


def _diagnosis(story: str, folder: Path, imports: Sequence[Options]) -> Diagnosis | None:
    """Return the diagnosis of a recording with these imports. None: there are none."""
    return diagnose(Recording(_recorded(story, folder, imports))) if imports else None


def _recorded(story: str, folder: Path, imports: Sequence[Options]) -> Path:
    """Return a recording with these imports, below `folder`. Recordings that begin alike are imported once."""
    recording = folder / f"{sha256(json.dumps(imports).encode()).hexdigest()}.sanpath"
    if not recording.exists():
        if len(imports) > 1:
            copytree(_recorded(story, folder, imports[:-1]), recording)
        import_files(story, str(recording), imports[-1])
    return recording


def _results(story: Mapping[str, Any], diagnoses: Mapping[str, Diagnosis | None]) -> Results:
    printed = {
        name: {} if diagnosis is None else json.loads(json_view.render(diagnosis))
        for name, diagnosis in diagnoses.items()
    }
    comparisons = []
    for before, after, *options in story.get("compare", ()):
        runs = diagnoses[before], diagnoses[after]
        latency = float(options[1].removesuffix("ms")) / 1e3 if options else None
        comparison = None if runs[0] is None or runs[1] is None else compare(runs[0], runs[1], latency)
        comparisons.append({} if comparison is None else json.loads(json_view.render(comparison)))
    return Results(printed, comparisons)


def _holds(claim: Mapping[str, Any], results: Results) -> bool:
    try:
        return not check(claim, results).problems
    except (KeyError, IndexError, ValueError, TypeError):
        return False  # The results have no such step, figure or direction.
