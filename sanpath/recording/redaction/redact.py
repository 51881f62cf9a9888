"""Writes a copy of a recording that is safe to send: names, addresses and serial numbers are replaced.

Numbers and times are unchanged. Joins and verdict are the same, because equal names stay equal. The output of the
load generator is left out, because it may contain anything; so are damaged files and files of another format.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import duckdb

from sanpath.catalogue import catalogue
from sanpath.errors import RecordingError, UsageError
from sanpath.model import Poll, Scalar, Table
from sanpath.recording.format import layout
from sanpath.recording.format.documents import Ending, Header, Manifest
from sanpath.recording.format.integrity import altered, find_changed_segments
from sanpath.recording.format.layout import Segment
from sanpath.recording.format.recorder_starts import starts
from sanpath.recording.format.row_budget import oversized_segments
from sanpath.recording.redaction.pseudonyms import Pseudonyms, vocabulary
from sanpath.recording.storage import checksum
from sanpath.recording.storage.duck import PARQUET, connect_separately, literal, quoted
from sanpath.recording.storage.store import Location, Store, store_at

_SENTENCES = frozenset({"evidence", "message"})
_OWN_SOURCES = frozenset({layout.CONFIG, layout.RECORDER})
"""Sources with fixed names that sanpath itself chose."""
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
_SAMPLE_COLUMNS = frozenset(("source", "entity", "seen", "device_time", "covers_seconds"))
_CONSTANTS = frozenset({"kind", "relation", "from_kind", "to_kind", "name", "outcome", "failure"})
_CONSTANT = re.compile("[a-z][a-z0-9_-]{0,40}")
_VERSION, _TIME = re.compile(r"\d[\w.+-]{0,30}", re.ASCII), re.compile(r"[\d:.TZ+-]{0,40}", re.ASCII)
_NUMBERED = frozenset(
    {"address", "asset", "guid", "id", "key", "number", "serial", "tag", "uuid", "wwn", "wwnn", "wwpn"}
)
"""A long number is a name if its key contains one of these words."""
_LONG_NUMBER = 100_000
"""Numbers of at least six digits identify a device or a site; shorter ones are counts, ports and LUNs."""
_NUMBERS = ("BIGINT", "UBIGINT", "DOUBLE", "FLOAT", "INTEGER", "UINTEGER", "HUGEINT")

Columns = Mapping[str, str]
"""Name of a column of a segment → its type in DuckDB."""


@dataclass(frozen=True, slots=True)
class Redacted:
    """The result of a redaction.

    `left_out`: files of the recording that are not in the copy. `altered`: documents that were changed after they
    were written; the copy shows that too.
    """

    pseudonyms: Pseudonyms
    left_out: Sequence[str]
    altered: Sequence[str] = ()


def redact(source: Location, target: Location) -> Redacted:
    """Write the copy. Raises RecordingError, or UsageError when `target` already exists."""
    manifest = layout.read_manifest(source)
    store, copy = store_at(source), store_at(target)
    try:
        if copy.list(""):
            raise UsageError(f"{target}: is there already; choose another name for the copy")
    except OSError as error:
        raise UsageError(f"{target}: {error.strerror or error}; choose another name for the copy") from error
    headers, endings, left_out = _documents(store)
    changed = altered(manifest, starts(store, set()))
    run_id = uuid.uuid4().hex  # A new id: the copy must not be traceable to the original.
    connection = connect_separately(folders=(*store.roots(), *copy.roots()), store=store.files or copy.files)
    try:
        pseudonyms = Pseudonyms()
        kinds = layout.sample_kinds(store)
        tables = [*_TABLES, *(f"samples/{kind}" for kind in kinds if kind in catalogue.metrics())]
        left_out += [f"samples/{kind}" for kind in kinds if kind not in catalogue.metrics()]
        segments = [found for table in tables for found in _segments(connection, store, table, pseudonyms, left_out)]
        for header in headers.values():
            _collect_header(pseudonyms, header)
        pseudonyms.assign()
        writers = {
            writer: f"writer.{number:03d}"
            for number, writer in enumerate(sorted({*headers, *(segment.writer for segment, _ in segments)}), 1)
        }
        for segment, columns in segments:
            _copy(connection, store, copy, segment, columns, writers[segment.writer], pseudonyms)
        for name, header in headers.items():
            redacted_header = _redact_header(header, writers[name], run_id, pseudonyms)
            copy.put(f"writers/{writers[name]}.json", redacted_header.encoded(f"writers/{name}.json" not in changed))
        for name, ending in endings.items():
            if name in writers:
                written = {table: last for table, last in ending.written.items() if table in tables}
                ended = ending.model_copy(update={"written": written})
                copy.put(
                    f"writers/{writers[name]}.end.json", ended.encoded(f"writers/{name}.end.json" not in changed)
                )
        # Written last, so that an interrupted copy is no recording.
        copy.put("manifest.json", _redact_manifest(manifest, run_id).encoded("manifest.json" not in changed))
    except OSError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror or error}") from error
    except duckdb.Error as error:
        if "No space left on device" in str(error):
            raise UsageError(f"{target}: cannot be written: No space left on device") from error
        raise RecordingError(f"{source}: cannot be copied: {str(error).splitlines()[0]}") from error
    finally:
        connection.close()
    return Redacted(pseudonyms, sorted([*left_out, *_outputs(store)]), sorted(changed))


def _documents(store: Store) -> tuple[dict[str, Header], dict[str, Ending], list[str]]:
    """Return the headers and endings by the writer's name, and the files that cannot be read."""
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


def _outputs(store: Store) -> Iterator[str]:
    """Yield what load generators and other tools wrote."""
    for kind in ("load", "imports"):
        for folder in store.list(kind):
            yield from (f"{kind}/{folder}/{name}" for name in store.list(f"{kind}/{folder}"))


def _segments(
    connection: duckdb.DuckDBPyConnection, store: Store, table: str, pseudonyms: Pseudonyms, left_out: list[str]
) -> Iterator[tuple[Segment, Columns]]:
    """Yield the segments of a table that can be read completely, after collecting their texts."""
    left_out += layout.foreign(store, table)
    segments = layout.segments(store, table)
    broken = find_changed_segments(store, segments, starts(store, set()))
    broken |= oversized_segments(
        connection, store, table, [segment.name for segment in segments if segment.name not in broken]
    )
    for segment in segments:
        try:
            if segment.name in broken:
                raise ValueError(segment.name)
            columns, texts = _columns_and_texts(connection, segment, store.url(segment.name))
        except (duckdb.Error, ValueError, RecursionError):
            left_out.append(segment.name)
            continue
        for column, text in texts:
            _collect(pseudonyms, column, text)
        yield segment, columns


def _columns_and_texts(
    connection: duckdb.DuckDBPyConnection, segment: Segment, url: str
) -> tuple[Columns, list[tuple[str, str]]]:
    """Return the columns to copy, and (column, text) for every distinct text in them.

    Raises ValueError for invalid JSON columns. Every column is read: a segment may be damaged although its footer is
    intact.
    """
    read = connection.execute(f"SELECT * FROM read_parquet($file, {PARQUET})", {"file": url})  # noqa: S608 - ours
    columns = _columns(segment, {name: str(kind) for name, kind, *_ in read.description or ()})
    values = read.fetchnumpy()
    texts = [
        (column, text)
        for column, kind in columns.items()
        if kind == "VARCHAR"
        for text in dict.fromkeys(values[column].tolist())
        if text is not None
    ]
    for column, text in texts:
        _check(column, text)
    return columns, texts


def _check(column: str, text: str) -> None:
    if column in ("ids", "attributes", "detail"):
        content = json.loads(text)
        if not isinstance(content, dict) or (
            column == "ids" and not all(isinstance(values, list) for values in content.values())
        ):
            raise ValueError(f"{column}: not an object as it should be")


def _columns(segment: Segment, described: Columns) -> Columns:
    """Return the columns of the format: other columns, and even their names, may be private."""
    kind = segment.table.removeprefix("samples/")
    accepted = _TABLES.get(kind) or _SAMPLE_COLUMNS | catalogue.metrics()[kind].keys()
    return {
        name: column_type
        for name, column_type in described.items()
        if name in accepted and (column_type == "VARCHAR" or column_type in _NUMBERS)
    }


def _collect(pseudonyms: Pseudonyms, column: str, text: str) -> None:
    def take(kind: str, value: str) -> str:
        if kind == "name":
            pseudonyms.name(value)
        elif kind == "sentence":
            pseudonyms.sentence(value)
        return value

    _rewrite(column, text, take)


def _copy(
    connection: duckdb.DuckDBPyConnection,
    store: Store,
    copy: Store,
    segment: Segment,
    columns: Columns,
    writer: str,
    pseudonyms: Pseudonyms,
) -> None:
    """Write the redacted copy of a segment, with its rows in the same order."""

    def replace_text(kind: str, value: str) -> str:
        return pseudonyms.pseudonymise_product(value) if kind == "product" else pseudonyms.pseudonymise(value)

    @lru_cache(maxsize=1 << 16)
    def redacted_text(column: str, text: str) -> str:
        return _rewrite(column, text, replace_text)

    url = store.url(segment.name)
    columns_sql = ", ".join(
        f"sanpath_new({literal(name)}, {quoted(name)}) AS {quoted(name)}" if kind == "VARCHAR" else quoted(name)
        for name, kind in columns.items()
    )
    connection.create_function("sanpath_new", redacted_text, ["VARCHAR", "VARCHAR"], "VARCHAR")
    target = Segment(segment.table, writer, segment.first, segment.last)
    try:
        with copy.writing(target.name) as path:
            query = f"SELECT {columns_sql} FROM read_parquet({literal(url)}, {PARQUET})"  # noqa: S608 - quoted
            connection.execute(f"COPY ({query}) TO {literal(path)} (FORMAT parquet, {_COPY_OPTIONS})")
            copy.seal(path)
    finally:
        connection.remove_function("sanpath_new")


_COPY_OPTIONS = "COMPRESSION zstd, ROW_GROUP_SIZE 20480, USE_TMP_FILE false, " + checksum.OPTION


def _rewrite(column: str, text: str, replace_text: Callable[[str, str], str]) -> str:
    """Return a text of a column with all its strings replaced.

    `replace_text` takes the kind of a string ("name", "sentence" or "product") and the string.
    """
    if column == "ids":
        ids = {
            key: [replace_text("name", str(value)) for value in values] for key, values in json.loads(text).items()
        }
        return json.dumps(ids, ensure_ascii=False)
    if column in ("attributes", "detail"):
        product_keys, sentence_keys = _public(column)
        items = json.loads(text).items()
        redacted = {
            _key(key, replace_text): _redact_value(
                key, value, key in product_keys, key in sentence_keys, replace_text
            )
            for key, value in items
        }
        return json.dumps(redacted, ensure_ascii=False)
    if (column in _CONSTANTS and _CONSTANT.fullmatch(text)) or (column == "source" and text in _OWN_SOURCES):
        return text
    return replace_text("sentence" if column in _SENTENCES else "name", text)


def _key(key: str, replace_text: Callable[[str, str], str]) -> str:
    is_own = all(word in vocabulary() or len(word) == 1 for word in re.findall("[^\\W\\d_]+", key.lower()))
    return key if is_own else replace_text("name", key)


def _redact_value(
    key: str, value: Scalar, is_product: bool, is_sentence: bool, replace_text: Callable[[str, str], str]
) -> Scalar:
    if isinstance(value, list | dict):  # sanpath's own collectors record no such values.
        return replace_text("name", json.dumps(value, ensure_ascii=False))
    if isinstance(value, int | float) and abs(value) >= _LONG_NUMBER and _NUMBERED & set(key.lower().split("_")):
        return replace_text("name", str(value))
    if not isinstance(value, str):
        return value
    if is_product:
        return replace_text("product", value)
    kind, colon, name = value.partition(":")
    if colon and kind in (*catalogue.kinds(), "link"):
        return f"{kind}:{replace_text('name', name)}"
    return replace_text("sentence" if is_sentence else "name", value)


def _public(column: str) -> tuple[Sequence[str], Sequence[str]]:
    public = catalogue.public()
    return (public["attributes"], ()) if column == "attributes" else (public["details"], public["free_details"])


def _collect_header(pseudonyms: Pseudonyms, header: Header) -> None:
    for name in (header.host, header.recorder, header.plan, *(declared.name for declared in header.sources)):
        pseudonyms.name(name)
    for word in header.load_command:
        pseudonyms.sentence(word)


def _redact_manifest(manifest: Manifest, run_id: str) -> Manifest:
    version, started = _matching_text(_VERSION, manifest.tool_version), _matching_text(_TIME, manifest.started)
    return manifest.model_copy(update={"tool_version": version, "started": started, "run_id": run_id})


def _redact_header(header: Header, writer: str, run_id: str, pseudonyms: Pseudonyms) -> Header:
    sources = []
    for declared in header.sources:
        name = declared.name if declared.name in _OWN_SOURCES else pseudonyms.pseudonymise(declared.name)
        tables = tuple(_redact_table(table) for table in declared.tables if table.kind in catalogue.metrics())
        changed = {"name": name, "collector": pseudonyms.pseudonymise_product(declared.collector), "tables": tables}
        sources.append(declared.model_copy(update=changed))
    command = [pseudonyms.pseudonymise(word) for word in header.load_command]
    fields = {
        "writer": writer,
        "run_id": run_id,
        "host": pseudonyms.pseudonymise(header.host),
        "recorder": pseudonyms.pseudonymise(header.recorder),
        "tool_version": _matching_text(_VERSION, header.tool_version),
        "plan": pseudonyms.pseudonymise(header.plan),
        "load_command": command,
        "sources": tuple(sources),
    }
    return header.model_copy(update=fields)


def _matching_text(pattern: re.Pattern[str], text: str) -> str:
    """Return a text that matches a pattern; "" for any other text, which may be private."""
    return text if pattern.fullmatch(text) else ""


def _redact_table(table: Table) -> Table:
    """Return a table with only the columns and plane of the catalogue: others may be private."""
    columns = tuple(column for column in table.columns if column.metric in catalogue.metrics()[table.kind])
    return replace(table, columns=columns, plane=table.plane if table.plane in catalogue.planes() else None)
