"""Which collectors there are: folders of `sanpath_collectors`, then other people's by entry point.

Built-in ones are listed without being imported; only what a run names is imported.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.metadata import entry_points
from pathlib import PurePath
from typing import Any

import sanpath_collectors
from sanpath.errors import UsageError
from sanpath.plugin import API, Collector, LoadReader, ResultReader, SourceConfig, Spec

GROUP = "sanpath.collectors"


def names() -> list[str]:
    """Every collector's name, sorted. A folder of that name under `sanpath_collectors` is enough to be listed."""
    built_in = {m.name for m in pkgutil.iter_modules(sanpath_collectors.__path__) if m.ispkg}
    return sorted(built_in | _others().keys())


def spec(name: str) -> Spec:
    """The COLLECTOR object of a collector. Raises UsageError: there is none, or it needs what is not installed."""
    if name not in names():
        near = get_close_matches(name, names(), n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(names())}"
        raise UsageError(f"no collector is called {name!r}; {hint}")
    try:
        found: Spec = importlib.import_module(_module(name)).COLLECTOR
    except Exception as error:  # whatever somebody else's module does when it is imported
        raise UsageError(f"collector {name} cannot be loaded: {type(error).__name__}: {error}") from error
    if found.name != name:
        raise UsageError(f"collector {name}: its Spec is called {found.name!r}; it has to be called as its folder")
    if found.api != API:
        raise UsageError(f"collector {name} was written for plugin API {found.api}, this sanpath has {API}")
    return found


def collector_class(found: Spec) -> type[Collector[SourceConfig]]:
    """Import the class that reads sources. Raises UsageError for a collector that only wraps load commands."""
    if found.collector is None:
        raise UsageError(f"collector {found.name} reads load commands (sanpath run -- …), it cannot be a source")
    loaded: type[Collector[SourceConfig]] = _load(found.collector)
    return loaded


def load_reader(argv: Sequence[str], named: str | None = None) -> tuple[Spec, type[LoadReader]] | None:
    """The reader of a load command's output: the one named, else the one that knows the program; None: nobody."""
    if named is not None:
        found = spec(named)
        if found.load is None:
            raise UsageError(f"collector {named} does not read the output of load commands")
        return found, _load(found.load)
    program = PurePath(argv[0]).name.removesuffix(".exe")
    for name in names():
        try:
            found = spec(name)
        except UsageError:
            continue  # One that cannot be loaded is no reason to refuse a run that does not need it.
        if found.load is not None and program in found.commands:
            return found, _load(found.load)
    return None


def result_readers() -> list[str]:
    """Names of the collectors that read result files, of those that can be loaded."""
    return [name for name, reader in _result_readers() if reader is not None]


def _result_readers() -> Iterator[tuple[str, type[ResultReader] | None]]:
    for collector in names():
        # One that cannot be loaded is no reason to refuse a file that another one reads.
        with contextlib.suppress(UsageError, ImportError):
            found = spec(collector)
            yield collector, _load(found.result) if found.result is not None else None


def result_reader(head: bytes, name: str, named: str | None = None) -> tuple[Spec, type[ResultReader]] | None:
    """The reader of a file: the one named, else the first that recognises it; None: nobody does."""
    if named is not None:
        found = spec(named)
        if found.result is None:
            raise UsageError(f"collector {named} does not read result files")
        return found, _load(found.result)
    for collector, reader in _result_readers():
        if reader is not None and reader.recognises(head, name):
            return spec(collector), reader
    return None


def _module(name: str) -> str:
    return _others().get(name, f"sanpath_collectors.{name}")


@cache
def _others() -> Mapping[str, str]:
    """Collector → module, of those that are installed beside sanpath. To look costs 2 ms, for each source anew."""
    found: dict[str, str] = {}
    for entry in entry_points(group=GROUP):
        found.setdefault(entry.name, entry.value)
    return found


def _load(where: str) -> Any:
    module, _, attribute = where.partition(":")
    return getattr(importlib.import_module(module), attribute)
