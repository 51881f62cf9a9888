"""Reaches every source once, before a run: who answers, what its clock says, what it hides, what a poll costs."""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from sanpath import registry
from sanpath.errors import CollectorError, Failure
from sanpath.model import Rows, SourceEntity, SourceLink
from sanpath.plugin import Check, Clock, Collector, Cost, SourceConfig, Spec
from sanpath.recorder.sources.source import CLOSE_SECONDS, OPEN_SECONDS, NewContext
from sanpath.recording.writing.clock import RecorderClock

STAGES = ("login", "identity", "inventory", "poll")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Effort:
    """What an inventory or a poll cost. `items`: things and links, or rows of samples."""

    seconds: float
    requests: int
    bytes_in: int
    items: int


@dataclass(frozen=True, slots=True)
class SourceCheck:
    """What came of one source.

    `clock_offset_seconds`: its clock minus ours, true within `clock_uncertainty_seconds`; None: it tells no time.
    `unreadable`: what the account cannot read, with what stays unknown. None for an effort: it was not reached.
    `failure`: a value of `errors.Failure` or "defect", "" when the source answered everything; `stage` is where.
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
        """Whether a run would get samples from it."""
        return not self.failure

    @property
    def fits(self) -> bool:
        """Whether a poll ends within its budget; True when there was none to tell it from."""
        return self.poll is None or self.poll.seconds <= self.budget_seconds

    @property
    def slower_seconds(self) -> int:
        """`every_seconds` in which the poll fits, with the recorder's budget of 0.8 of it."""
        return math.ceil(self.poll.seconds / 0.8) if self.poll else 0


Seen = list[tuple[str, int, SourceEntity | SourceLink]]
"""(source, when, thing or link) as a recording holds it."""


async def check_all(sources: Sequence[SourceConfig], seen: Seen | None = None) -> list[SourceCheck]:
    """Check all sources at the same time, in their order. `seen`: takes what they say there is. Raises UsageError for
    a wrong one."""
    from sanpath.transport.context import LiveContext  # the protocol libraries

    clock = RecorderClock()
    specs = [registry.spec(source.collector) for source in sources]
    made = [registry.collector_class(spec) for spec in specs]
    checks = (
        check_source(source, spec, make, lambda cost: LiveContext(clock, cost), clock, seen)
        for source, spec, make in zip(sources, specs, made, strict=True)
    )
    return list(await asyncio.gather(*checks))


async def check_source(
    config: SourceConfig,
    spec: Spec,
    make: type[Collector[SourceConfig]],
    context: NewContext,
    clock: Clock,
    seen: Seen | None = None,
) -> SourceCheck:
    """Check one source. Its failures, and its silence, end here; one that blocks does so in a thread of its own."""
    probe = _Probe(config, spec, make, context, clock, seen if seen is not None else [])
    if make.runs_in == "loop":
        return await probe.run()
    limit = len(STAGES) * probe.limit_seconds + CLOSE_SECONDS
    try:
        return await asyncio.wait_for(_in_thread(probe.run), limit)
    except TimeoutError:
        return probe.failed(Failure.UNREACHABLE.value, f"it blocks, and had not returned after {limit:g} s")


class _Probe:
    """Takes one source through its stages, and notes what it says on the way."""

    def __init__(
        self,
        config: SourceConfig,
        spec: Spec,
        make: type[Collector[SourceConfig]],
        context: NewContext,
        clock: Clock,
        seen: Seen,
    ) -> None:
        self._seen = seen
        self._spec, self._make, self._config, self._clock = spec, make, config, clock
        self._cost = Cost()
        self._context = context(self._cost)
        self._stage = STAGES[0]
        self._found = SourceCheck(config.name, spec.name, config.every_seconds, config.budget_seconds)
        self.limit_seconds = max(OPEN_SECONDS, config.budget_seconds)

    async def run(self) -> SourceCheck:
        try:
            await self._ask()
        except TimeoutError:
            self.failed(Failure.UNREACHABLE.value, f"no end within {self.limit_seconds:g} s")
        except CollectorError as error:
            self.failed(error.failure.value, f"{error} {error.excerpt}")
        except Exception as error:  # a defect in one collector must not hide what the others say
            self.failed("defect", f"{type(error).__name__}: {error}")
        return self._found

    def failed(self, failure: str, message: str) -> SourceCheck:
        """Note how the stage under way failed, on one line."""
        self._found = replace(
            self._found,
            stage=self._stage,
            failure=failure,
            message=" ".join(message.split()),
            remedy=_remedy(failure, self._stage, self._spec),
        )
        return self._found

    async def _ask(self) -> None:
        collector = self._make(self._config)
        try:
            await self._within("login", collector.open(self._context))
            asked = self._clock.now_us()
            said = await self._within("identity", collector.check(self._context))
            self._found = replace(self._found, **_said(said, asked, self._clock.now_us()))
            things = await self._effort("inventory", collector.inventory(self._context))
            self._found = replace(self._found, inventory=things)
            samples = await self._effort("poll", collector.poll(self._context))
            self._found = replace(self._found, poll=samples)
        finally:
            # Logging out is a courtesy; what was found stays found.
            with contextlib.suppress(Exception):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await collector.close()

    async def _effort(self, stage: str, items: AsyncIterator[object]) -> Effort:
        self._cost.requests = self._cost.bytes_in = 0
        started = time.monotonic()
        number = await self._within(stage, self._count(items))
        return Effort(time.monotonic() - started, self._cost.requests, self._cost.bytes_in, number)

    async def _count(self, items: AsyncIterator[object]) -> int:
        number = 0
        async for item in items:
            number += len(item.entity) if isinstance(item, Rows) else 1
            if isinstance(item, SourceEntity | SourceLink):
                self._seen.append((self._config.name, self._clock.now_us(), item))
        return number

    async def _within(self, stage: str, work: Awaitable[T]) -> T:
        self._stage = stage
        async with asyncio.timeout(self.limit_seconds):
            return await work


def _said(check: Check, asked_us: int, answered_us: int) -> dict[str, Any]:
    """The device read its clock between question and answer: the middle, give or take half the round trip."""
    found: dict[str, Any] = {"identity": check.identity, "unreadable": check.unreadable}
    if check.device_time is not None:
        found["clock_offset_seconds"] = (check.device_time - (asked_us + answered_us) / 2) / 1e6
        found["clock_uncertainty_seconds"] = (answered_us - asked_us) / 2e6
    return found


def _remedy(failure: str, stage: str, spec: Spec) -> str:
    match failure:
        case Failure.MISCONFIGURED.value:
            return "correct the source in the configuration"
        case Failure.UNREACHABLE.value if stage == "poll":
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


async def _in_thread(work: Callable[[], Awaitable[T]]) -> T:
    """Run in a daemon thread with a loop of its own: one that hangs does not keep the process."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    async def call() -> T:
        return await work()

    def finish(result: T) -> None:
        if not done.done():
            done.set_result(result)

    def run() -> None:
        result = asyncio.run(call())
        with contextlib.suppress(RuntimeError):  # too late: the loop that waited is closed
            loop.call_soon_threadsafe(finish, result)

    threading.Thread(target=run, daemon=True).start()
    return await done
