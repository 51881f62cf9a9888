"""Recorded cases of collectors with one answer changed: what a device, or somebody in its place, may send."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from sanpath import registry
from sanpath.plugin import Collector, SourceConfig
from sanpath.transport.replay import ReplayContext
from tests.fuzz.mutation import NUMBERS, WORDS, changed, mutated

CASES = Path(__file__).parents[1] / "collectors"
_LARGEST = 300_000
_POLLS = 2
_INTEGERS = ("2", "65", "66", "67", "70")


@cache
def replies(collector: str) -> tuple[bytes, ...]:
    """Every file of the collector's cases that can be changed, as "CASE/FILE"."""
    found = []
    for config in sorted((CASES / collector).glob("*/config.yaml")):
        folder = config.parent / "replies"
        found += [
            str(path.relative_to(CASES)).encode()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix != ".bz2" and path.stat().st_size < _LARGEST
        ]
    return tuple(found)


def drawn(random: Random, files: Sequence[bytes]) -> bytes:
    """One of the files with something changed, as JSON that says which."""
    file = random.choice(files).decode()
    content = (CASES / file).read_bytes()
    if file.endswith(".snmprec"):
        content = _walk(random, content.decode("latin-1")).encode("latin-1", "replace")
    elif file.endswith(("http.yaml", ".commands.yaml")):
        content = _dialogue(random, content)
    else:
        content = mutated(random, [content])
    return json.dumps({"file": file, "content": content.decode("latin-1")}).encode()


def taken(given: bytes) -> None:
    """Run the case with the changed file in place of the recorded one."""
    said = json.loads(given)
    case = CASES / "/".join(said["file"].split("/")[:2])
    with TemporaryDirectory() as folder:
        place = Path(folder) / "replies"
        shutil.copytree(case / "replies", place)
        (place / "/".join(said["file"].split("/")[3:])).write_bytes(said["content"].encode("latin-1"))
        raw = yaml.safe_load((case / "config.yaml").read_text(encoding="utf-8"))
        spec = registry.spec(raw["collector"])
        if spec.config is None:
            return
        asyncio.run(_run(registry.collector_class(spec)(spec.config.model_validate(raw)), place))


class _Clock:
    us = 1_700_000_000_000_000

    def now_us(self) -> int:
        return self.us


async def _run(collector: Collector[SourceConfig], place: Path) -> None:
    clock = _Clock()
    context = ReplayContext(clock, place)
    try:
        await collector.open(context)
        await collector.check(context)
        async for _ in collector.inventory(context):
            pass
        for _ in range(_POLLS):
            clock.us += round(collector.config.every_seconds * 1e6)
            context.advance()
            async for _ in collector.poll(context):
                pass
    finally:
        await collector.close()


def _walk(random: Random, text: str) -> str:
    """Another value, tag or order, a line less or twice: all that an agent can answer in a well-formed datagram."""
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    for _ in range(random.choice((1, 1, 2, 4, 16))):
        if not lines:
            break
        at = random.randrange(len(lines))
        oid, tag, value = lines[at].split("|", 2)
        chance = random.random()
        if chance < 0.1:
            del lines[at]
        elif chance < 0.2:
            lines.insert(random.randrange(len(lines) + 1), lines[at])
        elif chance < 0.3:
            lines[at] = f"{oid}.{random.choice((0, 1, 2**31, 2**32 - 1))}|{tag}|{value}"
        elif chance < 0.6:
            number = random.choice((-(2**31), -1, 0, 1, 2**31 - 1, 2**32 - 1, 2**63, 2**64 - 1))
            lines[at] = f"{oid}|{random.choice(_INTEGERS)}|{number}"
        elif chance < 0.7:
            lines[at] = f"{oid}|5|"
        else:
            words = random.choice((*WORDS, *NUMBERS, value)).encode("utf-8", "surrogatepass")
            lines[at] = f"{oid}|4x|{mutated(random, [words or b'x'])[:4000].hex()}"
    return "\n".join(lines)


def _dialogue(random: Random, content: bytes) -> bytes:
    """Answers of a server, or outputs of commands, with one of them changed; the questions stay."""
    said: Any = yaml.safe_load(content)
    if isinstance(said, list) and said:
        entry = random.choice(said)
        if "json" in entry:
            entry["json"] = changed(random, entry["json"])
        elif isinstance(entry.get("text"), str):
            entry["text"] = _other(random, entry["text"])
        if random.random() < 0.1:
            entry["status"] = random.choice((100, 204, 301, 400, 403, 404, 429, 500, 503))
    elif isinstance(said, dict) and said:
        key = random.choice([key for key in said if isinstance(said[key], str)] or [None])
        if key is not None:
            said[key] = _other(random, said[key])
    return yaml.safe_dump(said).encode()


def _other(random: Random, text: str) -> str:
    """Other text. What YAML cannot hold is left out, and NUL, which no shell passes on."""
    other = mutated(random, [text.encode("utf-8", "surrogatepass") or b"x"]).decode("utf-8", "replace")
    return "".join(letter for letter in other if letter.isprintable() or letter in "\n\t")
