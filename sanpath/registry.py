"""Finds the collectors: folders of `sanpath_collectors`, then third-party ones by entry point.

Built-in collectors are listed without being imported; only what a run names is imported.
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
from sanpath.catalogue.catalogue import Field, attributes_of
from sanpath.errors import UsageError
from sanpath.plugin import API, Collector, LoadReader, ResultReader, SourceConfig, Spec

GROUP = "sanpath.collectors"


def names() -> list[str]:
    """Return the names of all collectors, sorted. A folder under `sanpath_collectors` is enough to be listed."""
    return sorted(_built_in(tuple(sanpath_collectors.__path__)) | _installed().keys())


@cache
def _built_in(folders: tuple[str, ...]) -> frozenset[str]:
    """Return the names of the collectors in some folders. Cached: to import a file asks for each of them by name."""
    return frozenset(module.name for module in pkgutil.iter_modules(folders) if module.ispkg)


def spec(name: str) -> Spec:
    """Return the COLLECTOR object of a collector.

    Raises UsageError: no collector has this name, or it cannot be loaded.
    """
    if name not in names():
        matches = get_close_matches(name, names(), n=1)
        hint = f"did you mean {matches[0]}?" if matches else f"there are: {', '.join(names())}"
        raise UsageError(f"no collector is called {name!r}; {hint}")
    try:
        collector: Spec = importlib.import_module(_module(name)).COLLECTOR
    except Exception as error:  # a third-party module may raise anything when it is imported
        raise UsageError(f"collector {name} cannot be loaded: {type(error).__name__}: {error}") from error
    if collector.name != name:
        raise UsageError(
            f"collector {name}: its Spec is called {collector.name!r}; it must have the name of its folder"
        )
    if collector.api != API:
        raise UsageError(f"collector {name} was written for plugin API {collector.api}, this sanpath has {API}")
    return collector


def attributes(name: str) -> Mapping[str, Mapping[str, Field]]:
    """Return entity kind → name → definition of the attributes that only this collector reports."""
    return attributes_of(_module(name))


def collector_class(collector_spec: Spec) -> type[Collector[SourceConfig]]:
    """Import the class that polls sources.

    Raises UsageError: the collector only wraps load commands, or it needs a package that is not installed.
    """
    if collector_spec.collector is None:
        raise UsageError(
            f"collector {collector_spec.name} reads load commands (sanpath run -- …), it cannot be a source"
        )
    if collector_spec.extra is not None:
        collector_spec.extra.require(f"collector {collector_spec.name}")
    loaded: type[Collector[SourceConfig]] = _load(collector_spec.collector)
    return loaded


def require_installed(source: SourceConfig) -> None:
    """Raise UsageError when the collector of a source, or its way to the device, is not installed."""
    collector = spec(source.collector)
    if collector.extra is not None:
        collector.extra.require(f"source {source.name} (collector {source.collector})")
    for extra in source.extras:
        extra.require(f"source {source.name}")


def load_reader(argv: Sequence[str], named: str | None = None) -> tuple[Spec, type[LoadReader]] | None:
    """Return the reader of a load command's output: the named one, else the one whose collector lists the program.

    None: no collector lists the program. Raises UsageError: the named collector reads no load output.
    """
    if named is not None:
        collector = spec(named)
        if collector.load is None:
            raise UsageError(f"collector {named} does not read the output of load commands")
        return collector, _load(collector.load)
    program = PurePath(argv[0]).name.removesuffix(".exe")
    for name in names():
        try:
            collector = spec(name)
        except UsageError:
            continue  # A broken collector is no reason to refuse a run that does not need it.
        if collector.load is not None and program in collector.commands:
            return collector, _load(collector.load)
    return None


def result_readers() -> list[str]:
    """Return the names of the collectors that can be loaded and read result files."""
    return sorted(collector.name for collector, _ in _result_readers(""))


def _result_readers(file_name: str) -> Iterator[tuple[Spec, type[ResultReader]]]:
    """Yield the readers, those of files with other endings last: what is asked is imported, which takes time."""
    others = []
    for name in names():
        # A broken collector is no reason to refuse a file that another collector reads.
        with contextlib.suppress(UsageError, ImportError):
            collector = spec(name)
            if collector.result is None:
                continue
            if collector.result_endings and not file_name.lower().endswith(collector.result_endings):
                others.append((collector, collector.result))
            else:
                yield collector, _load(collector.result)
    for collector, reader in others:
        with contextlib.suppress(ImportError):
            yield collector, _load(reader)


def result_reader(head: bytes, name: str, named: str | None = None) -> tuple[Spec, type[ResultReader]] | None:
    """Return the reader of a result file: the named one, else the first that recognises the file. In a text with
    several results, that of a load generator comes before those of what watched it.

    None: no collector recognises it. Raises UsageError: the named collector reads no result files.
    """
    if named is not None:
        collector = spec(named)
        if collector.result is None:
            raise UsageError(f"collector {named} does not read result files")
        return collector, _load(collector.result)
    matches = (match for match in _result_readers(name) if match[1].recognises(head, name))
    first = next(matches, None)
    if first is None or first[0].load is not None:
        return first
    return next((match for match in matches if match[0].load is not None), first)


def _module(name: str) -> str:
    return _installed().get(name, f"sanpath_collectors.{name}")


@cache
def _installed() -> Mapping[str, str]:
    """Collector → module, for the collectors of other packages. Cached: reading the entry points takes 2 ms."""
    modules: dict[str, str] = {}
    for entry in entry_points(group=GROUP):
        modules.setdefault(entry.name, entry.value)
    return modules


def _load(reference: str) -> Any:
    module, _, attribute = reference.partition(":")
    return getattr(importlib.import_module(module), attribute)
