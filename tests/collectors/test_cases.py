"""Every folder with a config.yaml below this one is a case: recorded replies in, everything emitted out.

A case runs open, check, inventory, poll, poll, close with a clock that moves by every_seconds before each poll, and
recorded agents that move on to their next state. expected.json is all that was emitted; expected.err the failure.
SANPATH_UPDATE_CASES=1 writes what is emitted now; read the difference before it is committed.
"""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr

from sanpath import registry
from sanpath.plugin import Collector, CollectorError, Event, Item, Rows, SourceConfig, SourceEntity, SourceLink
from tests.support.replay import ReplayContext

STARTED_US = 1_700_000_000_000_000
POLLS = 2
CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/*/config.yaml"))
UPDATE = os.environ.get("SANPATH_UPDATE_CASES") == "1"

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")


@each_case
def test_emits_what_is_expected(case: Path) -> None:
    try:
        name, text = "expected.json", as_text(run_case(case))
    except CaseFailedError as failure:
        name, text = "expected.err", str(failure)
    expected = case / name
    if UPDATE:
        (case / "expected.json").unlink(missing_ok=True)
        (case / "expected.err").unlink(missing_ok=True)
        expected.write_text(text + "\n", encoding="utf-8")
    assert expected.exists(), f"ended with {text!r}, expected something else"
    assert text.splitlines() == expected.read_text(encoding="utf-8").splitlines()


@each_case
def test_no_secret_is_emitted(case: Path) -> None:
    try:
        reported = json.dumps(run_case(case))
    except CaseFailedError as failure:
        reported = str(failure)
    secrets = secrets_of(load_config(case))
    if not secrets:
        pytest.skip("this source has no secret")
    assert not [secret for secret in secrets if secret in reported]


def as_text(reported: dict[str, Any]) -> str:
    """JSON with one item a line, so that a difference shows the item."""
    parts = []
    for stage, value in reported.items():
        if isinstance(value, list):
            lines = ",\n  ".join(line for item in value for line in _lines(item))
            parts.append(f"{json.dumps(stage)}: [\n  {lines}\n ]")
        else:
            parts.append(f"{json.dumps(stage)}: {json.dumps(value)}")
    return "{\n " + ",\n ".join(parts) + "\n}"


def _lines(item: dict[str, Any]) -> list[str]:
    """An item; the rows of a table apart."""
    if len(item) == 1 and isinstance(rows := next(iter(item.values())), list):
        kind = next(iter(item))
        return [json.dumps({kind: row}, ensure_ascii=False) for row in rows]
    return [json.dumps(item, ensure_ascii=False)]


class SteppedClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.us = STARTED_US

    def now_us(self) -> int:
        return self.us


class CaseFailedError(Exception):
    """The collector raised; the text is what expected.err holds."""


def load_config(case: Path) -> SourceConfig:
    """The source of config.yaml; the values of a case are no secrets and stand in it."""
    raw = yaml.safe_load((case / "config.yaml").read_text(encoding="utf-8"))
    schema = registry.spec(raw["collector"]).config
    assert schema is not None, f"{raw['collector']} reads no sources"
    return schema.model_validate(raw)


def secrets_of(config: SourceConfig) -> list[str]:
    values = (getattr(config, name) for name in type(config).model_fields)
    return [value.get_secret_value() for value in values if isinstance(value, SecretStr)]


def run_case(case: Path) -> dict[str, Any]:
    """open, check, inventory, poll, poll, close; recorded agents move on before each poll. Raises CaseFailedError."""
    config = load_config(case)
    collector = registry.collector_class(registry.spec(config.collector))(config)
    return asyncio.run(_run(collector, case / "replies"))


async def _run(collector: Collector[SourceConfig], replies: Path) -> dict[str, Any]:
    clock = SteppedClock()
    context = ReplayContext(clock, replies)
    stage = "open"
    try:
        await collector.open(context)
        stage = "check"
        answer = asdict(await collector.check(context))
        reported: dict[str, Any] = {"check": {name: answer[name] for name in answer if answer[name] != 0}}
        stage = "inventory"
        reported["inventory"] = [as_data(item) async for item in collector.inventory(context)]
        for number in range(1, POLLS + 1):
            stage = f"poll {number}"
            clock.us += round(collector.config.every_seconds * 1e6)
            context.advance()
            before = context.cost.requests
            reported[stage] = [as_data(item) async for item in collector.poll(context)]
            reported[f"{stage} requests"] = context.cost.requests - before
    except CollectorError as error:
        parts = (f"{stage}: {error.failure.value}: {error}", error.excerpt.strip())
        raise CaseFailedError("\n".join(filter(None, parts))) from error
    finally:
        await collector.close()
    return reported


def as_data(item: Item) -> dict[str, Any]:
    """An item as JSON holds it."""
    match item:
        case Rows():
            return {item.table.kind: [_row(item, number) for number in range(len(item.entity))]}
        case SourceEntity():
            parts = {"ids": {k: list(v) for k, v in item.ids.items()}, "attributes": dict(item.attributes)}
            return {"thing": f"{item.kind} {item.local_id}", "label": item.label, **parts}
        case SourceLink():
            ends = f"{' '.join(item.from_end)} {item.relation} {' '.join(item.to_end)}"
            return {"tie": ends, "evidence": item.evidence}
        case Event():
            return {"event": item.name, "seen": item.seen, "detail": dict(item.detail)}


def _row(rows: Rows, number: int) -> dict[str, Any]:
    row: dict[str, Any] = {"entity": rows.entity[number], "seen": rows.seen[number]}
    if rows.device_time is not None:
        row["device_time"] = rows.device_time[number]
    if rows.covers_seconds is not None:
        row["covers_seconds"] = rows.covers_seconds[number]
    bits = {column.metric: column.bits for column in rows.table.columns}
    for metric, values in rows.values.items():
        row[f"{metric}, {bits[metric]} bits" if bits[metric] else metric] = values[number]
    return row
