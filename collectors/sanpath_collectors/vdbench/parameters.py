"""vdbench's parameter language, as far as it describes the I/O of a run.

sd=default,openflags=o_direct
sd=sd1,lun=/dev/sdb,threads=16
wd=wd1,sd=sd*,xfersize=4k,rdpct=75,seekpct=100
rd=rd1,wd=wd*,iorate=max,elapsed=60,interval=1
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sanpath.plugin import common_value, complete_sum
from sanpath_collectors.vdbench.machines import Machines, is_machine_name
from sanpath_collectors.vdbench.parse import parse_number, parse_size_bytes, to_ratio
from sanpath_collectors.vdbench.run_header import RunSettings

_DEFAULT_THREADS = 8.0
"""Default of threads=, the I/Os in flight on an SD (vdbench user guide, "threads=")."""
_MAX_STATEMENTS = 100_000
"""Largest number of statements in a file, so that no file fills the memory."""
_KEYS = (
    *(
        "sd",
        "wd",
        "rd",
        "fsd",
        "fwd",
        "hd",
        "host",
        "system",
        "lun",
        "size",
        "range",
        "count",
        "openflags",
        "threads",
    ),
    *("xfersize", "rdpct", "seekpct", "skew", "iorate", "fwdrate", "elapsed", "interval", "warmup", "operation"),
    *("forthreads", "forxfersize", "forrdpct", "forseekpct"),
)
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}

Words = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Plan:
    """A run definition. `in_flight`: its I/Os in flight; None: it loops over several numbers, or works on files.
    `machines`: the machines that it uses, with their LUNs; empty: not known."""

    settings: RunSettings
    in_flight: float | None
    machines: Machines


class Parameters:
    """The statements of one parameter file."""

    def __init__(self) -> None:
        self.included = False
        self._unfinished = ""
        self._statements = 0
        self._defined: dict[str, dict[str, dict[str, str]]] = {
            kind: {} for kind in ("hd", "sd", "wd", "rd", "fsd", "fwd")
        }
        self._luns: dict[str, list[tuple[str, str]]] = {}
        self._defaults: dict[str, dict[str, str]] = {}

    def add(self, line: str) -> None:
        """Add the next line. Text after a space is a comment. A line that ends with a comma continues."""
        text = line.strip()
        if not text or text[0] in "*#/<" or self._statements >= _MAX_STATEMENTS:
            return
        self._unfinished += text.split()[0]
        if self._unfinished.endswith(",") and len(self._unfinished) < 1 << 20:
            return
        statement, self._unfinished = self._unfinished, ""
        self._statements += 1
        self._define(statement)

    def plans(self) -> dict[str, Plan]:
        """Return the plan of each run definition by its name."""
        return {name: self._build_plan(words) for name, words in self._defined["rd"].items()}

    def _define(self, statement: str) -> None:
        pairs = [_parse_pair(word) for word in _split(statement)]
        kind, name = pairs[0]
        self.included |= kind == "include"
        if kind not in self._defined:
            return
        words = self._defaults.get(kind, {}) | dict(pairs[1:])
        if name == "default":
            self._defaults[kind] = words
            return
        for item in _expand_count(name, words.get("count")):
            self._defined[kind][item] = words
            if kind == "sd":
                self._luns[item] = list(_luns_of_hosts(words, pairs[1:]))

    def _build_plan(self, rd: Words) -> Plan:
        if "fwd" in rd:
            workloads, storage_definitions = self._select("fwd", rd["fwd"]), {}
        else:
            workloads = self._select("wd", rd.get("wd", ""))
            chosen = [rd["sd"]] if "sd" in rd else [workload.get("sd", "sd*") for workload in workloads.values()]
            storage_definitions = {name: sd for text in chosen for name, sd in self._select("sd", text).items()}
        files = "fwd" in rd
        limit = rd.get("fwdrate" if files else "iorate", "max").lower()
        sizes = [parse_size_bytes(sd.get("size", "")) for sd in storage_definitions.values()]
        has_ranges = any("range" in words for words in (*workloads.values(), *storage_definitions.values()))
        threads = [_threads(rd, sd) for sd in storage_definitions.values()]
        settings = RunSettings(
            threads=common_value(threads),
            storage_definitions=len(storage_definitions) or None,
            files=files,
            block_bytes=common_value(parse_size_bytes(text) for text in _workload_values("xfersize", rd, workloads)),
            read_ratio=common_value(_read_ratio(workload, rd) for workload in workloads.values()),
            random_ratio=common_value(_random_ratio(text) for text in _workload_values("seekpct", rd, workloads)),
            working_set_bytes=None if has_ranges else complete_sum(sizes) or None,
            direct=True
            if storage_definitions and all(_is_direct(sd) for sd in storage_definitions.values())
            else None,
            has_rate_limit=limit != "max",
            requested_ops_per_second=parse_number(limit),
            seconds=_parse_seconds(rd.get("elapsed", "")),
            warmup_seconds=_parse_seconds(rd.get("warmup", "")),
        )
        return Plan(settings, complete_sum(threads), self._find_machines(rd, workloads))

    def _find_machines(self, rd: Words, workloads: Mapping[str, Words]) -> Machines:
        """Return the machines that a run uses; empty: not known.

        Random I/O runs on all hosts (hd=), except those that a workload or SD excludes. Sequential I/O and I/O on
        files run on one host; which one is not known.
        """
        hosts = list(self._defined["hd"]) or [""]
        used: dict[str, dict[str, None]] = {}
        for workload in workloads.values() or [rd]:
            allowed = list(self._select("hd", workload["host"])) if "host" in workload else hosts
            is_on_one = "fwd" in rd or _random_ratio(rd.get("seekpct", workload.get("seekpct", ""))) == 0.0
            if len(allowed) > 1 and is_on_one:
                return {}
            luns = [
                (host, lun)
                for sd in (self._select("sd", rd.get("sd", workload.get("sd", "sd*"))) if "fwd" not in rd else ())
                for pattern, lun in self._luns[sd]
                for host in (self._select("hd", pattern) if pattern else allowed)
            ]
            for host in allowed if "fwd" in rd else ():
                used.setdefault(host, {})
            for host, lun in luns:
                if host in allowed:
                    used.setdefault(host, {})[lun] = None
        return self._by_system(used)

    def _by_system(self, used: Mapping[str, Mapping[str, None]]) -> Machines:
        """Return the machines of the hosts (hd=) with their LUNs. Empty: a host's machine is not known."""
        machines: dict[str, dict[str, None]] = {}
        for host, luns in used.items():
            system = self._defined["hd"].get(host, {}).get("system", "")
            if not is_machine_name(system) and len(self._defined["hd"]) < 2:
                system = ""
            elif system in ("", "localhost"):
                return {}
            machines[system] = machines.get(system, {}) | dict(luns)
        return {system: tuple(luns) for system, luns in machines.items()}

    def _select(self, kind: str, text: str) -> dict[str, dict[str, str]]:
        patterns = [re.compile(".*".join(map(re.escape, name.split("*")))) for name in _expand_names(text)]
        return {n: w for n, w in self._defined[kind].items() if any(pattern.fullmatch(n) for pattern in patterns)}


def _luns_of_hosts(words: Words, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield (hosts, LUN) of an SD, `host=h1,lun=/dev/sdb,host=h2,lun=/dev/sdc`. hosts "": all hosts use this LUN."""
    hosts = "" if any(key == "host" for key, _ in pairs) else words.get("host", "")
    own_pairs = [pair for pair in pairs if pair[0] in ("host", "lun")]
    for key, value in (
        own_pairs if any(key == "lun" for key, _ in own_pairs) else [*own_pairs, ("lun", words.get("lun", ""))]
    ):
        if key == "host":
            hosts = value
        elif value:
            yield hosts, value


def _split(statement: str) -> list[str]:
    """Split a statement at the commas outside of parentheses."""
    words, depth = [""], 0
    for character in statement:
        depth += (character == "(") - (character == ")")
        if character == "," and depth <= 0:
            words.append("")
        else:
            words[-1] += character
    return words


def _parse_pair(word: str) -> tuple[str, str]:
    """Split a word into key and value; a key may be abbreviated as long as it is unique."""
    key, _, value = word.partition("=")
    key = key.lower()
    matches = [known_key for known_key in _KEYS if len(key) > 1 and known_key.startswith(key)]
    return matches[0] if key not in _KEYS and len(matches) == 1 else key, value.strip('"')


def _expand_names(text: str) -> Iterator[str]:
    """Expand `(sd1,sd5-sd7)` → sd1, sd5, sd6, sd7."""
    for name in text.strip("()").split(","):
        name_range = re.fullmatch(r"(\D+)(\d{1,6})-(?:\1)?(\d{1,6})", name)
        if name_range is None or int(name_range[3]) - int(name_range[2]) > 10_000:
            yield name
        else:
            yield from (f"{name_range[1]}{number}" for number in range(int(name_range[2]), int(name_range[3]) + 1))


def _expand_count(name: str, count: str | None) -> Iterator[str]:
    """Expand `sd=sd,count=(1,8)` → sd1 to sd8."""
    name_range = re.fullmatch(r"\((\d{1,6}),(\d{1,4})\)", count or "")
    if name_range is None:
        yield from _expand_names(name)
    else:
        yield from (f"{name}{int(name_range[1]) + number}" for number in range(int(name_range[2])))


def _workload_values(key: str, rd: Words, workloads: Mapping[str, Words]) -> list[str]:
    """Return the value of a key for each workload. A value of the run itself has precedence."""
    run_value = rd.get(key, rd.get(f"for{key}"))
    return [run_value if run_value is not None else workload.get(key, "") for workload in workloads.values()]


def _threads(rd: Words, sd: Words) -> float | None:
    """Return the I/Os in flight on an SD. None: the run is repeated with several numbers."""
    text = rd.get("threads", rd.get("forthreads", sd.get("threads")))
    return _DEFAULT_THREADS if text is None else parse_number(text.strip("()"))


def _read_ratio(workload: Words, rd: Words) -> float | None:
    settings = rd.get("rdpct", rd.get("forrdpct", workload.get("rdpct")))
    if settings is None:
        return {"read": 1.0, "write": 0.0}.get(workload.get("operation", ""))
    return to_ratio(parse_number(settings))


def _random_ratio(text: str) -> float | None:
    """`seekpct=100` and `random` are random, `seq`, `seqnz` and `eof` are not."""
    words = {"seq": 0.0, "seqnz": 0.0, "sequential": 0.0, "eof": 0.0, "rand": 1.0, "random": 1.0}
    return words.get(text, to_ratio(parse_number(text)))


def _is_direct(sd: Words) -> bool:
    return re.search(r"o_direct|directio", sd.get("openflags", "").lower()) is not None


def _parse_seconds(text: str) -> float | None:
    """Parse `60`, `90s`, `10m`, `2h` → seconds."""
    unit = _SECONDS.get(text[-1:].lower())
    settings = parse_number(text if unit is None else text[:-1])
    return None if settings is None else settings * (unit or 1.0)
