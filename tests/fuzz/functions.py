"""Every public function of a collector that takes text of a device: found by its parameters, not by a list."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from random import Random
from types import FrameType, ModuleType
from typing import Any

from sanpath.plugin import SnmpValue
from tests.fuzz.mutation import mutated

_RAW = {"bytes", "str", "SnmpValue", "str | None", "bytes | None", "object"}
_NOT_READING = {"vmomi", "tables", "config", "profile", "endpoints", "vsan_source", "reading"}
"""Modules whose text is our own: names of pyVmomi's types, of tables, of a profile, indexes that we have written."""
BETWEEN = b"\x1e"
"""Stands between the arguments: ASCII's record separator."""


@dataclass(frozen=True)
class Function:
    """One of them. `kinds`: of its parameters; `allowed`: what its docstring says that it raises."""

    name: str
    call: Callable[..., object]
    kinds: tuple[str, ...]
    allowed: tuple[str, ...]

    def arguments(self, body: bytes) -> list[SnmpValue]:
        """From the bytes of an input; a missing one is empty."""
        parts = body.split(BETWEEN, len(self.kinds) - 1)
        parts += [b""] * (len(self.kinds) - len(parts))
        return [_decoded(kind, part) for kind, part in zip(self.kinds, parts, strict=True)]

    def coded(self, values: Sequence[Any]) -> bytes:
        """The input that gives these arguments."""
        return BETWEEN.join(_coded(kind, value) for kind, value in zip(self.kinds, values, strict=True))


@cache
def of(collector: str) -> Mapping[str, Function]:
    """Those of a collector, by module and name: "parse.diskstats"."""
    package = importlib.import_module(f"sanpath_collectors.{collector}")
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if module.name.rpartition(".")[2] not in _NOT_READING
    ]
    return {function.name: function for module in modules for function in of_module(module)}


def of_module(module: ModuleType) -> Iterator[Function]:
    """Those of a module: public, its own, and with parameters that are all text."""
    for name, call in inspect.getmembers(module, inspect.isfunction):
        if name.startswith("_") or call.__module__ != module.__name__ or inspect.iscoroutinefunction(call):
            continue
        parameters = inspect.signature(call).parameters.values()
        needed = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
        kinds = tuple(str(parameter.annotation) for parameter in needed)
        if kinds and set(kinds) <= _RAW:
            allowed = tuple(re.findall(r"\b\w+Error\b", (call.__doc__ or "").partition("aises ")[2]))
            yield Function(f"{module.__name__.rpartition('.')[2]}.{name}", call, kinds, allowed)


def taken(known: Mapping[str, Function], given: bytes) -> None:
    """Call the function that the first line names."""
    name, _, body = given.partition(b"\n")
    function = known[name.decode()]
    try:
        found = function.call(*function.arguments(body))
        if inspect.isgenerator(found):
            for _ in found:
                pass
    except Exception as error:
        if type(error).__name__ not in function.allowed:
            raise


def drawn(random: Random, given: Sequence[bytes]) -> bytes:
    """A call with its first argument changed, now and then that of another call. The others are as recorded: what
    separates columns, or what an answer is called, is no device's to say."""
    name, _, body = random.choice(given).partition(b"\n")
    first, between, others = body.partition(BETWEEN)
    if random.random() < 0.1:
        first = random.choice(given).partition(b"\n")[2].partition(BETWEEN)[0]
    return name + b"\n" + mutated(random, (first,)).replace(BETWEEN, b"") + between + others


@contextmanager
def noted(known: Mapping[str, Function]) -> Iterator[dict[str, set[bytes]]]:
    """What these functions are given meanwhile: name → inputs."""
    codes = {function.call.__code__: function for function in known.values()}  # type: ignore[attr-defined]
    found: dict[str, set[bytes]] = {name: set() for name in known}

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        function = codes.get(frame.f_code) if event == "call" else None
        if function is not None:
            names = frame.f_code.co_varnames[: len(function.kinds)]
            found[function.name].add(function.coded([frame.f_locals[name] for name in names]))

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)


def _decoded(kind: str, part: bytes) -> Any:
    if kind.startswith("bytes"):
        return part
    if kind in ("SnmpValue", "object"):
        return value(part)
    return part.decode("utf-8", "replace")


def _coded(kind: str, given: Any) -> bytes:
    if kind.startswith("bytes"):
        return bytes(given or b"")
    if kind in ("SnmpValue", "object"):
        return coded(given)
    return str(given or "").encode("utf-8", "replace")


def coded(given: object) -> bytes:
    """A value of SNMP as bytes: see `value`."""
    if isinstance(given, int):
        return b"n%d" % given
    return b"o" + given if isinstance(given, bytes) else b"t" + str(given).encode("utf-8", "replace")


def value(body: bytes) -> SnmpValue:
    """A value of SNMP: what begins with n is a number of 64 bits, with t an identifier, else octets."""
    if body[:1] == b"n":
        try:
            return int(body[1:30]) % (1 << 64)
        except ValueError:
            return None
    return body[1:].decode("latin-1") if body[:1] == b"t" else body[1:]
