"""Every parser of files, every answer of a device, and every document of a recording as a target."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import yaml

from sanpath import registry
from sanpath.config import load_config
from sanpath.diagnose import diagnose
from sanpath.recording.read import Recording
from sanpath.rulebook.load import load_rule
from sanpath.sweep.plan import load_plan
from sanpath.views import json as json_view
from tests.fuzz import answers
from tests.fuzz.mutation import mutated
from tests.fuzz.target import Target
from tests.support.stories import recorded

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
_LARGEST = 300_000


def targets() -> Iterator[Target]:
    """All of them."""
    for reader in registry.result_readers():
        yield Target(f"file-{reader}", partial(_files, reader), partial(_read, reader))
    for folder in sorted({path.parent.parent.name for path in answers.CASES.glob("*/*/config.yaml")}):
        yield Target(f"answer-{folder}", partial(answers.replies, folder), answers.taken, drawn=answers.drawn)
    yield Target(
        "document-config", partial(_texts, "examples/**/sanpath.yaml"), _document(load_config, "sanpath.yaml")
    )
    yield Target("document-plan", partial(_texts, "examples/**/*plan*.yaml"), _document(load_plan, "plan.yaml"))
    yield Target("document-rule", partial(_texts, "rules/**/*.yaml"), _rule)
    yield Target("recording", _members, _opened, drawn=_member)


@cache
def _files(reader: str) -> tuple[bytes, ...]:
    """Recorded result files of a reader; something of its own where there are none."""
    found = []
    for said in sorted((TESTS / "collectors" / reader).glob("*/import.yaml")):
        file = said.parent / str(yaml.safe_load(said.read_text(encoding="utf-8"))["file"])
        if file.is_file() and file.stat().st_size < _LARGEST:
            found.append(file.read_bytes())
    return tuple(found) or (b"{}",)


def _read(reader: str, given: bytes) -> None:
    found = registry.result_reader(b"", "", reader)
    if found is None:
        raise ValueError(f"no reader {reader}")
    found[1].recognises(given[: 64 << 10], "file")
    one = found[1]("load")
    for _ in one.feed(given):
        pass
    for _ in one.finish():
        pass


@cache
def _texts(pattern: str) -> tuple[bytes, ...]:
    found = [path.read_bytes() for path in sorted(ROOT.glob(pattern)) if path.stat().st_size < _LARGEST]
    return tuple(found) or (b"{}",)


def _document(load: Callable[[Path], object], name: str) -> Callable[[bytes], None]:
    def run(given: bytes) -> None:
        with TemporaryDirectory() as folder:
            (Path(folder) / name).write_bytes(given)
            load(Path(folder) / name)

    return run


def _rule(given: bytes) -> None:
    load_rule(given, "rules/site.yaml")


@cache
def _original() -> Path:
    return recorded("mixed").folder


def _members() -> Sequence[bytes]:
    folder = _original()
    return [str(path.relative_to(folder)).encode() for path in sorted(folder.rglob("*")) if path.is_file()]


def _member(random: Random, members: Sequence[bytes]) -> bytes:
    """One file of a recording with something changed, as JSON that says which."""
    file = random.choice(members).decode()
    content = mutated(random, [(_original() / file).read_bytes()])
    return json.dumps({"file": file, "content": content.decode("latin-1")}).encode()


def _opened(given: bytes) -> None:
    """Open the recording with the changed file, diagnose it, and print what was found."""
    said = json.loads(given)
    with TemporaryDirectory() as folder:
        place = Path(folder) / "r.sanpath"
        shutil.copytree(_original(), place)
        (place / said["file"]).write_bytes(said["content"].encode("latin-1"))
        json_view.render(diagnose(Recording(place)))
