"""Parses DiskSpd's XML (-Rxml) into timespans. Pure.

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

It is not parsed into a tree, because with -D it has a line for each second of each thread and target.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from sanpath.model import Direction
from sanpath_collectors.diskspd.outcome import ALL_TARGETS, Head, Interval, SpanOutcome, TargetOutcome
from sanpath_collectors.diskspd.settings import Fill, Span, Target
from sanpath_collectors.diskspd.values import parse_count, parse_number, parse_ratio, parse_time_us

_BARE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9A-Fa-f]{1,6});)")
"""An ampersand in a path, which DiskSpd does not escape."""
_REFERENCE = re.compile(r"&[^;&\s]{0,9}\Z")
_SCOPES = frozenset(
    (
        *("System", "Profile", "TimeSpan", "Target", "Thread", "Latency", "Bucket", "ETW"),
        *("CpuUtilization", "CPU", "Average"),
    )
)
"""Elements whose leaves form a record."""
_DIRECTIONS: Sequence[tuple[Direction, str]] = (("read", "Read"), ("write", "Write"))
_MAX_DEPTH = 50
"""Largest nesting depth. DiskSpd nests less than ten elements."""
_MAX_TEXT_PIECES = 1000
"""Largest number of pieces of text of one element. The parser splits long texts into pieces."""
_FILLS: Mapping[str, Fill] = {"zero": "zeros", "random": "random"}
"""`sequential` is missing, because DiskSpd also writes it for -Zr, with random data."""


class XmlParser:
    """Parses one document, from <Results> to </Results>. `remarks`: (code, text) of warnings about it."""

    def __init__(self) -> None:
        self.remarks: list[tuple[str, str]] = []
        self._document = _Document()
        self._parser = DefusedXMLParser(target=self._document)
        self._buffer = ""
        self._damaged = False

    def feed(self, text: str) -> Iterator[SpanOutcome]:
        """Yields the timespans that are complete now."""
        text, self._buffer = self._buffer + text, ""
        if reference := _REFERENCE.search(text[-10:]):
            text, self._buffer = text[: len(text) - len(reference[0])], reference[0]
        if not self._damaged:
            try:
                self._parser.feed(_BARE_AMPERSAND.sub("&amp;", text))
            except (ParseError, DefusedXmlException) as error:
                self._damaged = True
                self.remarks.append(("damaged-xml", f"the XML is damaged, what follows cannot be read: {error}"))
        complete, self._document.complete = self._document.complete, []
        yield from complete

    def finish(self) -> Iterator[SpanOutcome]:
        """Yields the incomplete timespan, if there is one."""
        yield from self.feed("")
        if self._document.open_span is not None:
            self._document.open_span.missing = "figures"
            yield self._document.open_span
        elif not self._document.ended and not self._damaged:
            self.remarks.append(("cut-file", "the file ends before its results do"))


class _Document:
    """Handles the parser's events, and collects settings and results."""

    def __init__(self) -> None:
        self.complete: list[SpanOutcome] = []
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
        if self._depth > _MAX_DEPTH:
            raise ParseError("nested too deep")
        if tag == "Bucket" and "SampleMillisecond" in attributes:
            self._add_interval(attributes)
            return
        self._text.clear()
        if tag not in _SCOPES:
            return
        self._scopes.append((tag, {}))
        if tag == "Profile":
            self._in_profile = True
        elif tag == "TimeSpan" and not self._in_profile:
            self._number += 1
            settings = self._settings[self._number - 1 : self._number]
            self.open_span = SpanOutcome(self._number, self._head, settings[0] if settings else Span())

    def data(self, text: str) -> None:
        if len(self._text) < _MAX_TEXT_PIECES:
            self._text.append(text)

    def end(self, tag: str) -> None:
        self._depth -= 1
        self.ended = tag == "Results"
        if tag != self._scopes[-1][0]:
            self._scopes[-1][1][tag] = "".join(self._text).strip()
            self._text.clear()
            return
        fields = self._scopes.pop()[1]
        if tag == "System":
            self._head.computer = fields.get("ComputerName") or None
            self._head.version = fields.get("Version") or None
            self._head.started_us = parse_time_us(fields.get("RunTime", ""))
        elif tag == "Profile":
            self._in_profile = False
        elif self._in_profile:
            self._read_profile_element(tag, fields)
        elif self.open_span is not None:
            self._read_result_element(tag, fields, self.open_span)

    def close(self) -> None:
        """Required by the parser."""

    def _read_profile_element(self, tag: str, fields: Mapping[str, str]) -> None:
        if tag == "Target":
            self._targets.append(_parse_target(fields))
        elif tag == "TimeSpan":
            self._settings.append(_parse_span(fields, self._targets))
            self._targets = []

    def _read_result_element(self, tag: str, fields: Mapping[str, str], span: SpanOutcome) -> None:
        if tag == "Bucket" and (percent := parse_number(fields.get("Percentile"))) is not None:
            parent, parent_fields = self._scopes[-2] if len(self._scopes) > 1 else ("", {})
            latencies = span.percentiles.setdefault(
                parent_fields.get("Path", "") if parent == "Target" else ALL_TARGETS, {}
            )
            for direction, name in _DIRECTIONS:
                if (milliseconds := parse_number(fields.get(f"{name}Milliseconds"))) is not None:
                    latencies.setdefault(direction, []).append((percent, milliseconds / 1e3))
        elif tag == "Target":
            target = span.targets.setdefault(fields.get("Path", ""), TargetOutcome())
            target.size_bytes = parse_number(fields.get("FileSize"))
            for direction, name in _DIRECTIONS:
                latency = parse_number(fields.get(f"Average{name}LatencyMilliseconds"))
                target.figures[direction].add(
                    parse_count(fields.get(f"{name}Count")) or 0,
                    parse_count(fields.get(f"{name}Bytes")) or 0,
                    None if latency is None else latency / 1e3,
                )
        elif tag == "CPU" and (used := parse_ratio(fields.get("UsagePercent"))) is not None:
            span.core_ratios.append(used)
        elif tag == "Average":
            span.busy_ratio = parse_ratio(fields.get("UsagePercent"))
        elif tag == "Thread" and "Id" in fields:
            span.threads.add(fields["Id"])
        elif tag == "TimeSpan":
            span.seconds = parse_number(fields.get("TestTimeSeconds"))
            span.stated_threads = parse_count(fields.get("ThreadCount"))
            span.interrupted_early = "Error" in fields
            self.complete.append(span)
            self.open_span = None

    def _add_interval(self, attributes: Mapping[str, str]) -> None:
        scope, fields = self._scopes[-1]
        end_ms = parse_count(attributes["SampleMillisecond"])
        if scope != "Target" or self.open_span is None or end_ms is None:
            return  # The sum of all targets.
        target = self.open_span.targets.setdefault(fields.get("Path", ""), TargetOutcome())
        interval = target.intervals.setdefault(end_ms, Interval())
        for direction, name in _DIRECTIONS:
            rate = parse_number(attributes.get(name)) or 0.0
            interval.rates[direction] += rate
            latency = parse_number(attributes.get(f"{name}AvgLatencyMilliseconds")) or 0.0
            interval.latency_sums[direction] += rate * latency / 1e3


def _parse_span(fields: Mapping[str, str], targets: list[Target]) -> Span:
    pool = parse_count(fields.get("ThreadCount")) or None
    return Span(
        seconds=parse_number(fields.get("Duration")),
        warmup_seconds=parse_number(fields.get("Warmup")),
        cooldown_seconds=parse_number(fields.get("Cooldown")) or 0.0,
        pool_threads=pool,
        pool_outstanding=(parse_count(fields.get("RequestCount")) or None) if pool else None,
        random_writes=fields.get("RandomWriteData") == "true",
        targets=targets,
    )


def _parse_target(fields: Mapping[str, str]) -> Target:
    writes = parse_number(fields.get("WriteRatio"))
    percent = parse_number(fields.get("RandomRatio", "100" if "Random" in fields else "0"))
    return Target(
        fields.get("Path", ""),
        block_bytes=parse_number(fields.get("BlockSize")) or None,
        read_ratio=None if writes is None else 1 - min(100, writes) / 100,
        random_ratio=None if percent is None else min(100, percent) / 100,
        outstanding=parse_count(fields.get("RequestCount")),
        threads=parse_count(fields.get("ThreadsPerFile")),
        # -S and -h of versions before 2.0.18 are DisableOSCache and DisableAllCache.
        direct="true"
        in (fields.get("DisableOSCache"), fields.get("DisableLocalCache"), fields.get("DisableAllCache")),
        write_through="true" in (fields.get("WriteThrough"), fields.get("DisableAllCache")),
        fill=None if "FilePath" in fields else _FILLS.get(fields.get("Pattern", "")),
        limit_bytes=parse_number(fields.get("MaxFileSize")) or None,
        rate_limited=bool(parse_number(fields.get("Throughput")) or parse_number(fields.get("ThinkTime"))),
        mapped=fields.get("MemoryMappedIo") == "true",
    )
