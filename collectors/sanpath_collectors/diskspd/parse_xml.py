"""DiskSpd's XML (-Rxml) → timespans. Pure: text in, outcomes out.

    <Results>
      <System><Tool><Version>2.0.21a</Version></Tool><RunTime>2021/04/14 23:25:42 UTC</RunTime></System>
      <Profile><TimeSpans><TimeSpan><Duration>120</Duration>
        <Targets><Target><Path>D:\\test.dat</Path><BlockSize>4096</BlockSize></Target></Targets>
      </TimeSpan></TimeSpans></Profile>
      <TimeSpan><TestTimeSeconds>120.01</TestTimeSeconds>
        <Latency><Bucket><Percentile>50</Percentile><ReadMilliseconds>2.191</ReadMilliseconds></Bucket></Latency>
        <Thread><Id>0</Id><Target><Path>D:\\test.dat</Path><ReadCount>37162</ReadCount>
          <Iops><Bucket SampleMillisecond="1000" Read="332" ReadAvgLatencyMilliseconds="2.378"/></Iops>
        </Target></Thread>
      </TimeSpan>
    </Results>

It is never held as a tree: with -D it has a line for each second of each thread and target.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from sanpath.model import Direction
from sanpath_collectors.diskspd.outcome import WHOLE, Head, Interval, SpanOutcome, TargetOutcome
from sanpath_collectors.diskspd.settings import Fill, Span, Target
from sanpath_collectors.diskspd.values import count, number, time_us

_BARE = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9A-Fa-f]{1,6});)")
"""DiskSpd writes paths as they are, with no regard to XML."""
_REFERENCE = re.compile(r"&[^;&\s]{0,9}\Z")
_SCOPES = frozenset(
    ("System", "Profile", "TimeSpan", "Target", "Thread", "Latency", "Bucket", "CpuUtilization", "ETW")
)
"""Elements whose leaves belong together."""
_DIRECTIONS: Sequence[tuple[Direction, str]] = (("read", "Read"), ("write", "Write"))
_DEEPEST = 50
_MOST_PIECES = 1000
_FILLS: Mapping[str, Fill] = {"zero": "zeros", "sequential": "repeating", "random": "random"}


class XmlForm:
    """One document, from <Results> to </Results>. `notes`: code and text of what a person should know of it."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, str]] = []
        self._document = _Document()
        self._parser = DefusedXMLParser(target=self._document)
        self._rest = ""
        self._damaged = False

    def feed(self, text: str) -> Iterator[SpanOutcome]:
        """The timespans that are complete now."""
        text, self._rest = self._rest + text, ""
        if reference := _REFERENCE.search(text[-10:]):
            text, self._rest = text[: len(text) - len(reference[0])], reference[0]
        if not self._damaged:
            try:
                self._parser.feed(_BARE.sub("&amp;", text))
            except (ParseError, DefusedXmlException) as error:
                self._damaged = True
                self.notes.append(("damaged-xml", f"the XML is damaged, what follows cannot be read: {error}"))
        done, self._document.done = self._document.done, []
        yield from done

    def finish(self) -> Iterator[SpanOutcome]:
        """The one that was not complete."""
        yield from self.feed("")
        if self._document.open_span is not None:
            self._document.open_span.cut = "figures"
            yield self._document.open_span
        elif not self._document.ended and not self._damaged:
            self.notes.append(("cut-file", "the file ends before its results do"))


class _Document:
    """Takes the parser's events, and keeps of the document what is of use."""

    def __init__(self) -> None:
        self.done: list[SpanOutcome] = []
        self.open_span: SpanOutcome | None = None
        self.ended = False
        self._head = Head()
        self._settings: list[Span] = []
        self._targets: list[Target] = []
        self._in_profile = False
        self._number = 0
        self._depth = 0
        self._scopes: list[tuple[str, dict[str, str]]] = [("", {})]
        self._text: list[str] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ParseError("nested too deep")
        if tag == "Bucket" and "SampleMillisecond" in attributes:
            self._interval(attributes)
            return
        self._text.clear()
        if tag not in _SCOPES:
            return
        self._scopes.append((tag, {}))
        if tag == "Profile":
            self._in_profile = True
        elif tag == "TimeSpan" and not self._in_profile:
            self._number += 1
            here = self._settings[self._number - 1 : self._number]
            self.open_span = SpanOutcome(self._number, self._head, here[0] if here else Span())

    def data(self, text: str) -> None:
        if len(self._text) < _MOST_PIECES:
            self._text.append(text)

    def end(self, tag: str) -> None:
        self._depth -= 1
        self.ended = tag == "Results"
        if tag != self._scopes[-1][0]:
            self._scopes[-1][1][tag] = "".join(self._text).strip()
            self._text.clear()
            return
        told = self._scopes.pop()[1]
        if tag == "System":
            self._head.computer = told.get("ComputerName") or None
            self._head.version = told.get("Version") or None
            self._head.started_us = time_us(told.get("RunTime", ""))
        elif tag == "Profile":
            self._in_profile = False
        elif self._in_profile:
            self._profile(tag, told)
        elif self.open_span is not None:
            self._result(tag, told, self.open_span)

    def close(self) -> None:
        """The parser asks for it."""

    def _profile(self, tag: str, told: Mapping[str, str]) -> None:
        if tag == "Target":
            self._targets.append(_target(told))
        elif tag == "TimeSpan":
            self._settings.append(_span(told, self._targets))
            self._targets = []

    def _result(self, tag: str, told: Mapping[str, str], span: SpanOutcome) -> None:
        if tag == "Bucket" and (percent := number(told.get("Percentile"))) is not None:
            around, its = self._scopes[-2] if len(self._scopes) > 1 else ("", {})
            latencies = span.percentiles.setdefault(its.get("Path", "") if around == "Target" else WHOLE, {})
            for direction, name in _DIRECTIONS:
                if (milliseconds := number(told.get(f"{name}Milliseconds"))) is not None:
                    latencies.setdefault(direction, []).append((percent, milliseconds / 1e3))
        elif tag == "Target":
            target = span.targets.setdefault(told.get("Path", ""), TargetOutcome())
            target.size_bytes = number(told.get("FileSize"))
            for direction, name in _DIRECTIONS:
                latency = number(told.get(f"Average{name}LatencyMilliseconds"))
                target.figures[direction].add(
                    count(told.get(f"{name}Count")) or 0,
                    count(told.get(f"{name}Bytes")) or 0,
                    None if latency is None else latency / 1e3,
                )
        elif tag == "Thread" and "Id" in told:
            span.threads.add(told["Id"])
        elif tag == "TimeSpan":
            span.seconds = number(told.get("TestTimeSeconds"))
            span.stated_threads = count(told.get("ThreadCount"))
            span.unmeasured = "Error" in told
            self.done.append(span)
            self.open_span = None

    def _interval(self, attributes: Mapping[str, str]) -> None:
        scope, told = self._scopes[-1]
        ends = count(attributes["SampleMillisecond"])
        if scope != "Target" or self.open_span is None or ends is None:
            return  # that of all targets together
        target = self.open_span.targets.setdefault(told.get("Path", ""), TargetOutcome())
        interval = target.intervals.setdefault(ends, Interval())
        for direction, name in _DIRECTIONS:
            rate = number(attributes.get(name)) or 0.0
            interval.rates[direction] += rate
            latency = number(attributes.get(f"{name}AvgLatencyMilliseconds")) or 0.0
            interval.waits[direction] += rate * latency / 1e3


def _span(told: Mapping[str, str], targets: list[Target]) -> Span:
    pool = count(told.get("ThreadCount")) or None
    return Span(
        seconds=number(told.get("Duration")),
        warmup_seconds=number(told.get("Warmup")),
        cooldown_seconds=number(told.get("Cooldown")) or 0.0,
        pool_threads=pool,
        pool_outstanding=(count(told.get("RequestCount")) or None) if pool else None,
        random_writes=told.get("RandomWriteData") == "true",
        targets=targets,
    )


def _target(told: Mapping[str, str]) -> Target:
    writes = number(told.get("WriteRatio"))
    share = number(told.get("RandomRatio", "100" if "Random" in told else "0"))
    return Target(
        told.get("Path", ""),
        block_bytes=number(told.get("BlockSize")) or None,
        read_ratio=None if writes is None else 1 - min(100, writes) / 100,
        random_ratio=None if share is None else min(100, share) / 100,
        outstanding=count(told.get("RequestCount")),
        threads=count(told.get("ThreadsPerFile")),
        # -S and -h of versions before 2.0.18 are DisableOSCache and DisableAllCache.
        direct="true" in (told.get("DisableOSCache"), told.get("DisableLocalCache"), told.get("DisableAllCache")),
        fill=None if "FilePath" in told else _FILLS.get(told.get("Pattern", "")),
        limit_bytes=number(told.get("MaxFileSize")) or None,
        rate_limited=bool(number(told.get("Throughput")) or number(told.get("ThinkTime"))),
        mapped=told.get("MemoryMappedIo") == "true",
    )
