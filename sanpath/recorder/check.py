"""Contacts every source once before a run: does it answer, its clock, what it cannot read, and the cost of a poll."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from sanpath import registry
from sanpath.errors import CollectorError, Failure
from sanpath.model import Rows, SourceEntity, SourceLink
from sanpath.plugin import Check, Clock, Collector, Cost, SourceConfig, Spec
from sanpath.recorder.sources.background import run_in_background
from sanpath.recorder.sources.source import CLOSE_SECONDS, OPEN_SECONDS, NewContext
from sanpath.recording.writing.clock import RecorderClock

STAGES = ("login", "identity", "inventory", "poll")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Effort:
    """The cost of an inventory or a poll. `items`: number of entities and links, or of rows of samples."""

    seconds: float
    requests: int
    bytes_in: int
    items: int


@dataclass(frozen=True, slots=True)
class SourceCheck:
    """The result of checking one source.

    `clock_offset_seconds`: its clock minus ours, within ± `clock_uncertainty_seconds`; None: it reports no time.
    `unreadable`: what the account may not read, and what remains unknown. An effort is None if its stage was not
    reached. `failure`: a value of `errors.Failure` or "defect", in `stage`; "" if the source answered everything.
    """

    name: str
    collector: str
    every_seconds: float
    budget_seconds: float
    identity: str = ""
    clock_offset_seconds: float | None = None
    clock_uncertainty_seconds: float | None = None
    unreadable: tuple[str, ...] = ()
    inventory: Effort | None = None
    poll: Effort | None = None
    stage: str = ""
    failure: str = ""
    message: str = ""
    remedy: str = ""

    @property
    def answers(self) -> bool:
        """Whether a run would get samples from the source."""
        return not self.failure

    @property
    def fits(self) -> bool:
        """Whether a poll ends within its budget; True if there was no poll."""
        return self.poll is None or self.poll.seconds <= self.budget_seconds

    @property
    def slower_seconds(self) -> int:
        """The shortest `every_seconds` into which the poll fits: a poll may take 0.8 of it."""
        return math.ceil(self.poll.seconds / 0.8) if self.poll else 0


SourcedInventory = list[tuple[str, int, SourceEntity | SourceLink]]
"""(source, time in microseconds, entity or link) as in a recording."""


async def check_all(sources: Sequence[SourceConfig], inventory: SourcedInventory | None = None) -> list[SourceCheck]:
    """Check all sources at the same time and return the results in their order.

    `inventory`: a list to which the reported entities and links are added. Raises UsageError for an invalid
    collector, and for a package that is not installed.
    """
    from sanpath.transport.live_context import LiveContext  # the protocol libraries

    for source in sources:
        registry.require_installed(source)
    clock = RecorderClock()
    specs = [registry.spec(source.collector) for source in sources]
    collector_classes = [registry.collector_class(spec) for spec in specs]
    checks = (
        check_source(source, spec, collector_class, partial(LiveContext, clock), clock, inventory)
        for source, spec, collector_class in zip(sources, specs, collector_classes, strict=True)
    )
    return list(await asyncio.gather(*checks))


async def check_source(
    config: SourceConfig,
    spec: Spec,
    collector_class: type[Collector[SourceConfig]],
    context: NewContext,
    clock: Clock,
    inventory: SourcedInventory | None = None,
) -> SourceCheck:
    """Check one source. Its failures and time-outs are part of the result; a blocking source runs in a thread."""
    probe = _Probe(config, spec, collector_class, context, clock, inventory if inventory is not None else [])
    if collector_class.runs_in == "loop":
        return await probe.run()
    limit = len(STAGES) * probe.limit_seconds + CLOSE_SECONDS
    try:
        return await run_in_background(lambda: asyncio.run(probe.run()), limit)
    except TimeoutError:
        return probe.failed(Failure.UNREACHABLE.value, f"it blocked and did not return within {limit:g} s")


class _Probe:
    """Takes a source through the stages and collects the results."""

    def __init__(
        self,
        config: SourceConfig,
        spec: Spec,
        collector_class: type[Collector[SourceConfig]],
        context: NewContext,
        clock: Clock,
        inventory: SourcedInventory,
    ) -> None:
        self._inventory = inventory
        self._spec, self._collector_class, self._config, self._clock = spec, collector_class, config, clock
        self._cost = Cost()
        self._context = context(self._cost)
        self._stage = STAGES[0]
        self._result = SourceCheck(config.name, spec.name, config.every_seconds, config.budget_seconds)
        self.limit_seconds = max(OPEN_SECONDS, config.budget_seconds)

    async def run(self) -> SourceCheck:
        try:
            await self._run_stages()
        except TimeoutError:
            self.failed(Failure.UNREACHABLE.value, f"it did not end within {self.limit_seconds:g} s")
        except CollectorError as error:
            self.failed(error.failure.value, f"{error} {error.excerpt}")
        except Exception as error:  # a defect in one collector must not hide the results of the others
            self.failed("defect", f"{type(error).__name__}: {error}")
        return self._result

    def failed(self, failure: str, message: str) -> SourceCheck:
        """Record the failure of the current stage, as one line."""
        self._result = replace(
            self._result,
            stage=self._stage,
            failure=failure,
            message=" ".join(message.split()),
            remedy=_remedy(failure, self._has_answered, self._spec),
        )
        return self._result

    @property
    def _has_answered(self) -> bool:
        """Whether the source has answered anything: some collectors send nothing before the stage "identity"."""
        return self._stage in ("inventory", "poll") or (self._stage == "identity" and self._cost.bytes_in > 0)

    async def _run_stages(self) -> None:
        collector = self._collector_class(self._config)
        try:
            seconds = max(self.limit_seconds, collector.open_seconds)
            await self._run_within("login", collector.open(self._context), seconds)
            sent_us = self._clock.now_us()
            check = await self._run_within("identity", collector.check(self._context))
            self._result = replace(self._result, **_identity_fields(check, sent_us, self._clock.now_us()))
            effort = await self._measure("inventory", collector.inventory(self._context))
            self._result = replace(self._result, inventory=effort)
            samples = await self._measure("poll", collector.poll(self._context))
            self._result = replace(self._result, poll=samples)
        finally:
            # Logging out is optional: its failure does not change the result.
            with contextlib.suppress(Exception):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await collector.close()

    async def _measure(self, stage: str, items: AsyncIterator[object]) -> Effort:
        self._cost.requests = self._cost.bytes_in = 0
        started = time.monotonic()
        count = await self._run_within(stage, self._count(items))
        return Effort(time.monotonic() - started, self._cost.requests, self._cost.bytes_in, count)

    async def _count(self, items: AsyncIterator[object]) -> int:
        count = 0
        async for item in items:
            count += len(item.entity) if isinstance(item, Rows) else 1
            if isinstance(item, SourceEntity | SourceLink):
                self._inventory.append((self._config.name, self._clock.now_us(), item))
        return count

    async def _run_within(self, stage: str, work: Awaitable[ResultT], seconds: float | None = None) -> ResultT:
        self._stage = stage
        async with asyncio.timeout(seconds or self.limit_seconds):
            return await work


def _identity_fields(check: Check, sent_us: int, answered_us: int) -> dict[str, Any]:
    """Return the fields of a check. The clock offset assumes the middle of the round trip, ± half of it and what the
    collector does not know."""
    fields: dict[str, Any] = {"identity": check.identity, "unreadable": check.unreadable}
    if check.device_time is not None:
        fields["clock_offset_seconds"] = (check.device_time - (sent_us + answered_us) / 2) / 1e6
        fields["clock_uncertainty_seconds"] = ((answered_us - sent_us) / 2 + check.device_time_within) / 1e6
    return fields


def _remedy(failure: str, has_answered: bool, spec: Spec) -> str:
    match failure:
        case Failure.MISCONFIGURED.value:
            return "correct the source in the configuration"
        case Failure.UNREACHABLE.value if has_answered:
            return "raise its every_seconds or timeout_seconds"
        case Failure.UNREACHABLE.value:
            return "check its address, and the network and firewalls between this machine and it"
        case Failure.REFUSED.value:
            needs = "; ".join(right.name for right in spec.rights)
            return f"check its credentials{f'; the account needs: {needs}' if needs else ''}"
        case Failure.UNREADABLE.value:
            return f"report the answer: collector {spec.name} does not know it"
        case _:
            return f"report it: a defect in collector {spec.name}"
