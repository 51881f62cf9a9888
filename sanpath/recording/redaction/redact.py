"""A copy of a recording that is safe to send: names, addresses and serial numbers replaced, numbers and times kept.

Joins and verdict stay as they are, for whatever was called alike is still called alike. What the load generator wrote
is left out, being anybody's text, and so is what is damaged or not of this format.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import duckdb

from sanpath.catalogue import load as catalogue
from sanpath.errors import RecordingError, UsageError
from sanpath.model import Poll, Scalar, Table
from sanpath.recording.format import layout
from sanpath.recording.format.documents import Ending, Header
from sanpath.recording.format.integrity import altered, not_as_written
from sanpath.recording.format.layout import Segment
from sanpath.recording.format.row_budget import oversized_segments
from sanpath.recording.format.writers import starts
from sanpath.recording.redaction.pseudonyms import Pseudonyms, vocabulary
from sanpath.recording.storage import checksum
from sanpath.recording.storage.duck import PARQUET, literal, quoted, separate
from sanpath.recording.storage.store import Location, Store, store_at

_SENTENCES = frozenset({"evidence", "message"})
_OURS = frozenset({"config", "recorder"})
"""Sources that sanpath names itself, and knows by these names."""
_TABLES: dict[str, frozenset[str]] = {
    "inventory": frozenset(
        (
            *("source", "seen", "kind", "local_id", "label", "ids", "attributes"),
            *("relation", "from_kind", "from_id", "to_kind", "to_id", "evidence"),
        )
    ),
    "events": frozenset(("source", "seen", "name", "detail")),
    "polls": frozenset(Poll.__slots__),
}
_OF_SAMPLES = frozenset(("source", "entity", "seen", "device_time", "covers_seconds"))
_CONSTANTS = frozenset({"kind", "relation", "from_kind", "to_kind", "name", "outcome", "failure"})
_CONSTANT = re.compile("[a-z][a-z0-9_-]{0,40}")
_VERSION, _TIME = re.compile(r"\d[\w.+-]{0,30}", re.ASCII), re.compile(r"[\d:.TZ+-]{0,40}", re.ASCII)
_NUMBERED = frozenset(
    {"address", "asset", "guid", "id", "key", "number", "serial", "tag", "uuid", "wwn", "wwnn", "wwpn"}
)
"""Words of a key under which a long number is a name."""
_LONG_NUMBER = 100_000
_NUMBERS = ("BIGINT", "UBIGINT", "DOUBLE", "FLOAT", "INTEGER", "UINTEGER", "HUGEINT")


@dataclass(frozen=True, slots=True)
class Redacted:
    """What came of it. `left_out`: files of the recording that are not in the copy; `altered`: documents that were
    changed after they were written, which the copy says too."""

    pseudonyms: Pseudonyms
    left_out: Sequence[str]
    altered: Sequence[str] = ()


def redact(source: Location, target: Location) -> Redacted:
    """Write the copy. Raises RecordingError, or UsageError when there is something at `target` already."""
    manifest = layout.read_manifest(source)
    store, copy = store_at(source), store_at(target)
    try:
        if copy.list(""):
            raise UsageError(f"{target}: is there already; choose another name for the copy")
    except OSError as error:
        raise UsageError(f"{target}: {error.strerror or error}; choose another name for the copy") from error
    headers, endings, left_out = _documents(store)
    changed = altered(manifest, starts(store, set()))
    run_id = uuid.uuid4().hex  # Nor is it to be looked up who has the original.
    connection = separate(folders=(*store.roots(), *copy.roots()), store=store.files or copy.files)
    try:
        pseudonyms = Pseudonyms()
        kinds = layout.sample_kinds(store)
        tables = [*_TABLES, *(f"samples/{kind}" for kind in kinds if kind in catalogue.metrics())]
        left_out += [f"samples/{kind}" for kind in kinds if kind not in catalogue.metrics()]
        whole = [s for table in tables for s in _segments(connection, store, table, pseudonyms, left_out)]
        for header in headers.values():
            pseudonyms.name(header.host)
            pseudonyms.name(header.recorder)
            pseudonyms.name(header.plan)
            for word in header.load_command:
                pseudonyms.sentence(word)
            for declared in header.sources:
                pseudonyms.name(declared.name)
        pseudonyms.settle()
        writers = {w: f"writer.{n:03d}" for n, w in enumerate(sorted({*headers, *(s.writer for s in whole)}), 1)}
        for segment in whole:
            _copy(connection, store, copy, segment, writers[segment.writer], pseudonyms)
        for name, header in headers.items():
            said = _header(header, writers[name], run_id, pseudonyms)
            copy.put(f"writers/{writers[name]}.json", said.encoded(f"writers/{name}.json" not in changed))
        for name, ending in endings.items():
            if name in writers:
                written = {table: last for table, last in ending.written.items() if table in tables}
                ended = ending.model_copy(update={"written": written})
                copy.put(
                    f"writers/{writers[name]}.end.json", ended.encoded(f"writers/{name}.end.json" not in changed)
                )
        # Last: what was cut short is no recording.
        told = {"tool_version": _plain(_VERSION, manifest.tool_version), "started": _plain(_TIME, manifest.started)}
        described = manifest.model_copy(update=told | {"run_id": run_id})
        copy.put("manifest.json", described.encoded("manifest.json" not in changed))
    except OSError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror or error}") from error
    except duckdb.Error as error:
        raise RecordingError(f"{source}: cannot be copied: {str(error).splitlines()[0]}") from error
    finally:
        connection.close()
    return Redacted(pseudonyms, sorted([*left_out, *_loads(store)]), sorted(changed))


def _documents(store: Store) -> tuple[dict[str, Header], dict[str, Ending], list[str]]:
    """What each writer said at its start and end, by its name, and which files cannot be read."""
    headers: dict[str, Header] = {}
    endings: dict[str, Ending] = {}
    damaged = []
    for name in store.list("writers"):
        try:
            if name.endswith(".end.json"):
                endings[name.removesuffix(".end.json")] = Ending.decoded(store.read(f"writers/{name}"))
            elif name.endswith(".json"):
                headers[name.removesuffix(".json")] = Header.decoded(store.read(f"writers/{name}"))
        except (OSError, ValueError):
            damaged.append(f"writers/{name}")
    return headers, endings, damaged


def _loads(store: Store) -> Iterator[str]:
    for folder in store.list("load"):
        yield from (f"load/{folder}/{name}" for name in store.list(f"load/{folder}"))


def _segments(
    connection: duckdb.DuckDBPyConnection, store: Store, table: str, pseudonyms: Pseudonyms, left_out: list[str]
) -> Iterator[Segment]:
    """The segments of a table that can be read whole; their texts are taken."""
    left_out += layout.foreign(store, table)
    there = layout.segments(store, table)
    broken = not_as_written(store, [segment.name for segment in there])
    broken |= oversized_segments(
        connection, store, table, [segment.name for segment in there if segment.name not in broken]
    )
    for segment in there:
        try:
            if segment.name in broken:
                raise ValueError(segment.name)
            texts = _texts(connection, segment, store.url(segment.name))
        except (duckdb.Error, ValueError, RecursionError):
            left_out.append(segment.name)
            continue
        for column, text in texts:
            _take(pseudonyms, column, text)
        yield segment


def _texts(connection: duckdb.DuckDBPyConnection, segment: Segment, url: str) -> list[tuple[str, str]]:
    """(column, text) of every text of a segment, each once. Raises ValueError for JSON of another form."""
    found = []
    columns = _columns(connection, segment, url)
    # Every column is read: a segment may be damaged inside with its end intact.
    everything = f"SELECT * FROM read_parquet($file, {PARQUET})"  # noqa: S608 - ours
    connection.execute(everything, {"file": url}).fetchnumpy()
    for column in [name for name, kind in columns.items() if kind == "VARCHAR"]:
        query = f"SELECT DISTINCT {quoted(column)} FROM read_parquet($file, {PARQUET})"  # noqa: S608 - quoted
        for (text,) in connection.execute(query, {"file": url}).fetchall():
            if text is not None:
                found.append((column, text))
                _check(column, text)
    return found


def _check(column: str, text: str) -> None:
    if column in ("ids", "attributes", "detail"):
        said = json.loads(text)
        if not isinstance(said, dict) or (column == "ids" and not all(isinstance(v, list) for v in said.values())):
            raise ValueError(f"{column}: not an object as it should be")


def _columns(connection: duckdb.DuckDBPyConnection, segment: Segment, url: str) -> dict[str, str]:
    """Columns that the format knows, with their type: what else there is may say anything, in its very name."""
    query = f"DESCRIBE SELECT * FROM read_parquet($file, {PARQUET})"  # noqa: S608 - ours
    described = connection.execute(query, {"file": url}).fetchall()
    kind = segment.table.removeprefix("samples/")
    known = _TABLES.get(kind) or _OF_SAMPLES | catalogue.metrics()[kind].keys()
    return {name: form for name, form, *_ in described if name in known and (form == "VARCHAR" or form in _NUMBERS)}


def _take(pseudonyms: Pseudonyms, column: str, text: str) -> None:
    def take(kind: str, value: str) -> str:
        if kind == "name":
            pseudonyms.name(value)
        elif kind == "sentence":
            pseudonyms.sentence(value)
        return value

    _rewritten(column, text, take)


def _copy(
    connection: duckdb.DuckDBPyConnection,
    store: Store,
    copy: Store,
    segment: Segment,
    writer: str,
    pseudonyms: Pseudonyms,
) -> None:
    """Write a segment anew, its rows in their order."""

    def give(kind: str, value: str) -> str:
        return pseudonyms.of_product(value) if kind == "product" else pseudonyms.of(value)

    @lru_cache(maxsize=1 << 16)
    def new(column: str, text: str) -> str:
        return _rewritten(column, text, give)

    url = store.url(segment.name)
    columns = _columns(connection, segment, url)
    chosen = ", ".join(
        f"sanpath_new({literal(name)}, {quoted(name)}) AS {quoted(name)}" if kind == "VARCHAR" else quoted(name)
        for name, kind in columns.items()
    )
    connection.create_function("sanpath_new", new, ["VARCHAR", "VARCHAR"], "VARCHAR")
    target = Segment(segment.table, writer, segment.first, segment.last)
    try:
        with copy.writing(target.name) as path:
            query = f"SELECT {chosen} FROM read_parquet({literal(url)}, {PARQUET})"  # noqa: S608 - quoted
            connection.execute(f"COPY ({query}) TO {literal(path)} (FORMAT parquet, {_AS_WRITTEN})")
            copy.seal(path)
    finally:
        connection.remove_function("sanpath_new")


_AS_WRITTEN = "COMPRESSION zstd, ROW_GROUP_SIZE 20480, USE_TMP_FILE false, " + checksum.OPTION


def _rewritten(column: str, text: str, of: Callable[[str, str], str]) -> str:
    """A text of a column with its parts replaced by `of`, which is told what each is: a "name", a "sentence" or
    of a "product"."""
    if column == "ids":
        ids = {key: [of("name", str(v)) for v in values] for key, values in json.loads(text).items()}
        return json.dumps(ids, ensure_ascii=False)
    if column in ("attributes", "detail"):
        kept, free = _public(column)
        said = json.loads(text).items()
        parts = {_key(key, of): _part(key, value, key in kept, key in free, of) for key, value in said}
        return json.dumps(parts, ensure_ascii=False)
    if (column in _CONSTANTS and _CONSTANT.fullmatch(text)) or (column == "source" and text in _OURS):
        return text
    return of("sentence" if column in _SENTENCES else "name", text)


def _key(key: str, of: Callable[[str, str], str]) -> str:
    ours = all(word in vocabulary() or len(word) == 1 for word in re.findall("[^\\W\\d_]+", key.lower()))
    return key if ours else of("name", key)


def _part(key: str, value: Scalar, kept: bool, free: bool, of: Callable[[str, str], str]) -> Scalar:
    if isinstance(value, list | dict):  # No collector of ours says such a thing.
        return of("name", json.dumps(value, ensure_ascii=False))
    if isinstance(value, int | float) and abs(value) >= _LONG_NUMBER and _NUMBERED & set(key.lower().split("_")):
        return of("name", str(value))
    if not isinstance(value, str):
        return value
    if kept:
        return of("product", value)
    kind, colon, rest = value.partition(":")
    if colon and kind in (*catalogue.kinds(), "link"):
        return f"{kind}:{of('name', rest)}"
    return of("sentence" if free else "name", value)


def _public(column: str) -> tuple[Sequence[str], Sequence[str]]:
    public = catalogue.public()
    return (public["attributes"], ()) if column == "attributes" else (public["details"], public["free_details"])


def _header(header: Header, writer: str, run_id: str, pseudonyms: Pseudonyms) -> Header:
    sources = []
    for declared in header.sources:
        name = declared.name if declared.name in _OURS else pseudonyms.of(declared.name)
        tables = tuple(_table(table) for table in declared.tables if table.kind in catalogue.metrics())
        changed = {"name": name, "collector": pseudonyms.of_product(declared.collector), "tables": tables}
        sources.append(declared.model_copy(update=changed))
    command = [pseudonyms.of(word) for word in header.load_command]
    told = {
        "writer": writer,
        "run_id": run_id,
        "host": pseudonyms.of(header.host),
        "recorder": pseudonyms.of(header.recorder),
        "tool_version": _plain(_VERSION, header.tool_version),
        "plan": pseudonyms.of(header.plan),
        "load_command": command,
        "sources": tuple(sources),
    }
    return header.model_copy(update=told)


def _plain(form: re.Pattern[str], text: str) -> str:
    """A text of such a form; "" when it is another: then it is anybody's."""
    return text if form.fullmatch(text) else ""


def _table(table: Table) -> Table:
    """What is declared of it that the format knows: anybody's names may stand beside."""
    known = tuple(column for column in table.columns if column.metric in catalogue.metrics()[table.kind])
    return replace(table, columns=known, plane=table.plane if table.plane in catalogue.planes() else None)
