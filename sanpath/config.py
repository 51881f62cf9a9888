"""Read sanpath.yaml: the sources to poll and what people know about the topology.

Every mistake is reported with file, line and key. A secret is a reference, never a value: env:NAME, file:PATH or
keyring:SERVICE/USER.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from sanpath import registry
from sanpath.catalogue import catalogue
from sanpath.errors import ConfigError, ConfigMistakesError, UsageError
from sanpath.model import Scalar, SourceEntity, SourceLink
from sanpath.plugin import SourceConfig, SshTarget
from sanpath.yaml_document import Document, read_document, suggestion, unknown_key

DEFAULT_NAME = "sanpath.yaml"
_KEYS = ("sources", "topology", "hosts", "recording", "rules")
"""The rulebook reads `rules` (rulebook/site/settings.py)."""
_TOPOLOGY_KEYS = ("things", "links")
_RECORDING_KEYS = ("keep",)
_SECONDS_PER_UNIT = {"m": 60, "h": 3600, "d": 86400}
MIN_RETENTION_SECONDS = 600.0
"""Samples are dropped some minutes at a time: a shorter retention would leave nothing to judge."""
_GROUP_AND_OTHERS = stat.S_IRWXG | stat.S_IRWXO
SchemaT = TypeVar("SchemaT", bound=BaseModel)
ResultT = TypeVar("ResultT")
_JOIN_KEYS = ("wwpn", "naa", "eui", "nqn", "iqn", "mac", "ip", "serial")


@dataclass(frozen=True, slots=True)
class Config:
    """A checked configuration.

    `entities` and `links` are those of the `topology` section, as if a source had reported them. `hosts` are the
    machines on which sanpath can start a load, by name. `keep_seconds` is the retention of samples; None: no limit.
    `warnings` name the secret files that other users can read.
    """

    path: Path | None
    sources: tuple[SourceConfig, ...] = ()
    entities: tuple[SourceEntity, ...] = ()
    links: tuple[SourceLink, ...] = ()
    hosts: Mapping[str, SshTarget] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    keep_seconds: float | None = None


class HostConfig(BaseModel):
    """How to log in to a host over SSH. Its host key has to be in known_hosts: an unknown key is never accepted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: str | None = Field(default=None, min_length=1)
    port: int | None = Field(default=None, ge=1, le=65535)
    user: str | None = Field(default=None, min_length=1)
    key_file: Path | None = None
    known_hosts: Path | None = None
    password: SecretStr | None = None


def load_config(path: Path | None, only: Collection[str] = ()) -> Config:
    """Read and check a configuration.

    `path` None means `sanpath.yaml` in the current folder; without that file the configuration is empty. `only` names
    the sources that will be polled; empty: all. The secrets of all other sources are not resolved and may be missing.

    Raises ConfigError for a mistake, ConfigMistakesError for several, UsageError when a file cannot be read.
    """
    path = path or default_config()
    if path is None:
        return Config(None)
    return _check(*read_document(path), only)


def default_config() -> Path | None:
    """Return sanpath.yaml of the current folder. None: it does not exist.

    Raises UsageError for a pipe or a device, which might never end, and for one that another user has put into a
    folder of all users: it names commands that collectors run, and the servers that secrets are sent to.
    """
    path = Path(DEFAULT_NAME)
    try:
        status, folder = path.stat(), path.absolute().parent.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{path}: is not a regular file")
    if os.name == "posix" and folder.st_mode & stat.S_IWOTH and status.st_uid not in (os.getuid(), 0):
        place = "belongs to another user, in a folder that everybody may write to"
        raise UsageError(f"{path}: {place}: read it, and name it with --config {path} to use it")
    return path


def source_from_keys(body: dict[str, Any], base: Path = Path("command line")) -> SourceConfig:
    """Check a source that is given by its keys rather than by a file.

    Paths are relative to the folder of `base`. Raises ConfigError.
    """
    return _source(Document(base), (), body)


def secret_from_reference(reference: str, option: str) -> SecretStr:
    """Resolve env:NAME, file:PATH or keyring:SERVICE/USER. `option`: named in the message. Raises ConfigError."""
    return SecretStr(_secret(Document(Path("command line")), (option,), reference))


def _check(document: Document, raw: Any, only: Collection[str]) -> Config:
    if raw is None:
        return Config(document.path)
    if not isinstance(raw, dict):
        raise document.error((), f"expected a mapping with the keys {', '.join(_KEYS)}")
    mistakes = _Mistakes()
    mistakes.unknown(document, (), raw, _KEYS)
    topology = raw.get("topology") or {}
    if not isinstance(topology, dict):
        keys = " and ".join(_TOPOLOGY_KEYS)
        mistakes.errors.append(document.error(("topology",), f"expected a mapping with the keys {keys}"))
        topology = {}
    mistakes.unknown(document, ("topology",), topology, _TOPOLOGY_KEYS)
    config = Config(
        document.path,
        mistakes.collect(lambda: _sources(document, raw.get("sources") or [], only), ()),
        mistakes.collect(lambda: _entities(document, topology.get("things") or {}), ()),
        mistakes.collect(lambda: _links(document, topology.get("links") or []), ()),
        mistakes.collect(lambda: _hosts(document, raw.get("hosts") or {}), {}),
        tuple(dict.fromkeys(document.warnings)),
        mistakes.collect(lambda: _keep_seconds(document, raw.get("recording") or {}), None),
    )
    mistakes.raise_errors()
    return config


class _Mistakes:
    """Collects every mistake of a file, so that the user can correct all of them at once."""

    def __init__(self) -> None:
        self.errors: list[ConfigError] = []

    def collect(self, read: Callable[[], ResultT], default: ResultT) -> ResultT:
        """Return the result of `read`, or `default` after a mistake, which is collected."""
        try:
            return read()
        except ConfigMistakesError as error:
            self.errors += error.mistakes
        except ConfigError as error:
            self.errors.append(error)
        return default

    def unknown(
        self, document: Document, place: tuple[str, ...], body: Mapping[Any, Any], accepted: Sequence[str]
    ) -> None:
        """Collect an error for every key that is not accepted."""
        for key in body:
            if key not in accepted:
                self.errors.append(document.error((*place, str(key)), unknown_key(str(key), accepted)))

    def raise_errors(self) -> None:
        """Raise what was collected: ConfigError for one mistake, ConfigMistakesError for several."""
        if len(self.errors) > 1:
            raise ConfigMistakesError(sorted(self.errors, key=lambda mistake: mistake.line or 0))
        if self.errors:
            raise self.errors[0]


def retention_seconds(text: str) -> float:
    """Parse a retention in minutes, hours or days (90m, 24h, 7d) and return it in seconds. Raises UsageError."""
    match = re.fullmatch(r"(\d{1,6})([mhd])", text.strip())
    if match is None:
        raise UsageError(f"{text!r} is not a time: write minutes, hours or days, such as 90m, 24h or 7d")
    seconds = float(match[1]) * _SECONDS_PER_UNIT[match[2]]
    if seconds < MIN_RETENTION_SECONDS:
        raise UsageError(f"{text} is too short to be judged: keep samples for 10m at least")
    return seconds


def _keep_seconds(document: Document, raw: Any) -> float | None:
    if not isinstance(raw, dict):
        raise document.error(("recording",), f"expected a mapping with the key {_RECORDING_KEYS[0]}")
    for key in raw:
        if key not in _RECORDING_KEYS:
            raise document.error(("recording", str(key)), unknown_key(str(key), _RECORDING_KEYS))
    if (text := raw.get("keep")) is None:
        return None
    try:
        return retention_seconds(str(text))
    except UsageError as error:
        raise document.error(("recording", "keep"), str(error)) from error


def _sources(document: Document, raw: Any, only: Collection[str]) -> tuple[SourceConfig, ...]:
    if not isinstance(raw, list):
        raise document.error(("sources",), "expected a list of sources")
    mistakes, checked = _Mistakes(), list[SourceConfig]()
    for number, body in enumerate(raw):
        place = ("sources", number)
        if not isinstance(body, dict):
            mistakes.errors.append(document.error(place, "expected a mapping with name and collector"))
            continue
        is_read = not only or body.get("name") in only
        source = mistakes.collect(partial(_source, document, place, body, is_read), None)
        if source is not None and any(source.name == earlier.name for earlier in checked):
            mistakes.errors.append(document.error((*place, "name"), f"two sources are called {source.name!r}"))
        elif source is not None:
            checked.append(source)
    mistakes.raise_errors()
    return tuple(checked)


def _source_collectors() -> list[str]:
    """The collectors that a source can name. One that cannot be loaded is among them: naming it says why."""
    accepted = []
    for name in registry.names():
        try:
            if registry.spec(name).config is None:
                continue
        except UsageError:
            pass
        accepted.append(name)
    return accepted


def _source(
    document: Document, place: tuple[str | int, ...], body: dict[str, Any], is_read: bool = True
) -> SourceConfig:
    if "collector" not in body:
        matches = get_close_matches("collector", [str(key) for key in body], 1)
        if matches:
            raise document.error((*place, matches[0]), "unknown key; did you mean collector?")
        raise document.error((*place, "collector"), f"is required; accepted: {', '.join(_source_collectors())}")
    name = body["collector"]
    if not isinstance(name, str) or name not in registry.names():
        accepted = _source_collectors()
        raise document.error(
            (*place, "collector"),
            f"no collector is called {name!r}; {suggestion(str(name), accepted)}accepted: {', '.join(accepted)}",
        )
    try:
        schema = registry.spec(name).config
    except UsageError as error:
        raise document.error((*place, "collector"), str(error)) from error
    if schema is None:
        raise document.error((*place, "collector"), f"{name} reads load commands (sanpath run -- …), not sources")
    return _validated(document, place, schema, body, is_read)


def _hosts(document: Document, raw: Any) -> dict[str, SshTarget]:
    if not isinstance(raw, dict):
        raise document.error(("hosts",), "expected a mapping of host names to their logins")
    hosts = {}
    for name, body in raw.items():
        place = ("hosts", str(name))
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", str(name)) or name == "local":
            raise document.error(
                place, "a host's name has letters, digits, _, . and -; local is the one sanpath runs on"
            )
        if not isinstance(body, dict | None):
            raise document.error(place, f"expected a mapping with the keys {', '.join(HostConfig.model_fields)}")
        host = _validated(document, place, HostConfig, body or {})
        hosts[str(name)] = SshTarget(
            host.address or str(name), host.port, host.user, host.key_file, host.password, host.known_hosts
        )
    return hosts


def _validated(
    document: Document,
    place: tuple[str | int, ...],
    schema: type[SchemaT],
    body: dict[str, Any],
    is_read: bool = True,
) -> SchemaT:
    """Validate a section of the file against its schema.

    Paths are resolved; so are secrets, unless `is_read` is false because the source will not be polled.
    """
    mistakes, values = _Mistakes(), dict[str, Any]()
    for key, value in body.items():
        resolve = partial(_resolve, document, (*place, key), schema, key, value, is_read)
        values[key] = mistakes.collect(resolve, _INVALID)
    try:
        validated = schema.model_validate(values)
    except ValidationError as error:
        for mistake in error.errors(include_url=False, include_context=False):
            if mistake["input"] is not _INVALID:
                mistakes.errors.append(document.error((*place, *mistake["loc"]), _problem(mistake, schema)))
        mistakes.raise_errors()
        raise
    mistakes.raise_errors()
    return validated


_INVALID = object()
"""Stands for a value whose mistake has been collected already."""


def _problem(mistake: Any, schema: type[BaseModel]) -> str:
    if mistake["type"] == "extra_forbidden":
        return unknown_key(str(mistake["loc"][0]), sorted(schema.model_fields))
    if mistake["type"] == "missing":
        return "is required"
    return str(mistake["msg"])


def _resolve(
    document: Document, place: tuple[str | int, ...], schema: type[BaseModel], key: str, value: Any, is_read: bool
) -> Any:
    """Resolve a secret by its reference, or a path relative to the file; other values stay as they are."""
    declared = schema.model_fields.get(key)
    if declared is None:
        return value
    types = {declared.annotation, *get_args(declared.annotation)}
    if SecretStr in types:
        secret = _secret(document, place, value) if is_read else "not resolved"
        if not secret:
            raise document.error(place, "the secret that it refers to is empty")
        return SecretStr(secret)
    if Path in types and isinstance(value, str):
        try:
            return document.path.parent / Path(value).expanduser()
        except RuntimeError as error:
            raise document.error(place, f"{error}") from error
    return value


def _secret(document: Document, place: tuple[str | int, ...], reference: Any) -> str:
    scheme, _, target = str(reference).partition(":")
    if scheme == "env" and target:
        if target not in os.environ:
            raise document.error(place, f"the environment variable {target} is not set")
        return os.environ[target]
    if scheme == "file" and target:
        try:
            file = document.path.parent / Path(target).expanduser()
            if os.name == "posix" and file.stat().st_mode & _GROUP_AND_OTHERS:
                document.warnings.append(f"{target}: holds a secret that other users can read; chmod 600 {target}")
            return file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError, RuntimeError) as error:
            raise document.error(place, f"the file {target} cannot be read: {_reason(error)}") from error
    if scheme == "keyring" and "/" in target:
        service, _, user = target.partition("/")
        return _from_keyring(document, place, service, user)
    # The message does not repeat the value: it may be the secret.
    raise document.error(place, "must be a reference (env:NAME, file:PATH or keyring:SERVICE/USER), never the secret")


def _reason(error: Exception) -> str:
    """Return the reason without the bytes that could not be decoded: they may belong to a secret."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _from_keyring(document: Document, place: tuple[str | int, ...], service: str, user: str) -> str:
    try:
        import keyring  # an optional dependency: most machines under test have no key ring
    except ImportError:
        raise document.error(place, "needs the package keyring (pip install keyring)") from None
    try:
        password = keyring.get_password(service, user)
    except Exception as error:  # each platform's key ring raises its own errors
        raise document.error(place, f"the key ring cannot be read: {error}") from error
    if password is None:
        raise document.error(place, f"the key ring has no password for {service}/{user}")
    return str(password)


def _entities(document: Document, raw: Any) -> tuple[SourceEntity, ...]:
    if not isinstance(raw, dict):
        raise document.error(("topology", "things"), 'expected a mapping of "kind:name" to join keys and attributes')
    entities = []
    for name, body in raw.items():
        place = ("topology", "things", name)
        kind, local_id = _entity(document, place, str(name))
        if body is not None and not isinstance(body, dict):
            raise document.error(place, "expected a mapping of join keys and attributes")
        ids: dict[str, tuple[str, ...]] = {"name": (local_id,)}
        attributes: dict[str, Scalar] = {}
        for key, value in (body or {}).items():
            if key in _JOIN_KEYS:
                ids[key] = _join_values(document, (*place, key), value)
            elif (known := catalogue.attributes().get(kind, {}).get(str(key))) and not known.accepts(value):
                expected = f"one of {', '.join(known.values)}" if known.values else f"a {known.type}"
                raise document.error((*place, str(key)), f"expected {expected}; YAML has read {value!r}")
            elif value is None or isinstance(value, str | int | float):
                attributes[str(key)] = value
            else:
                raise document.error((*place, str(key)), "expected text, a number, true or false")
        entities.append(SourceEntity(kind, local_id, local_id, ids, attributes))
    return tuple(entities)


def _join_values(document: Document, place: tuple[str | int, ...], value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    for item in values:
        if not isinstance(item, str):
            # YAML reads 21:00:00:24 as a base-60 number and 0012 as an octal one: the identifier itself is lost.
            raise document.error(place, f"put it in quotes: YAML has read {item!r} instead of text")
    return tuple(values)


def _links(document: Document, raw: Any) -> tuple[SourceLink, ...]:
    if not isinstance(raw, list):
        raise document.error(("topology", "links"), 'expected a list of "kind:name relation kind:name"')
    links = []
    for number, sentence in enumerate(raw):
        place = ("topology", "links", number)
        words = _link_words(str(sentence))
        if len(words) != 3:
            raise document.error(place, 'expected "kind:name relation kind:name"')
        if words[1] not in catalogue.relations():
            raise document.error(
                place, f"no relation is called {words[1]!r}; accepted: {', '.join(catalogue.relations())}"
            )
        ends = _entity(document, place, words[0]), _entity(document, place, words[2])
        links.append(SourceLink(words[1], ends[0], ends[1], f"{document.path.name}: {sentence}"))
    return tuple(links)


def _link_words(sentence: str) -> Sequence[str]:
    """The entity, the relation and the entity of a link. Names may contain spaces."""
    kinds, relations = "|".join(catalogue.kinds()), "|".join(catalogue.relations())
    parts = re.fullmatch(rf"\s*((?:{kinds}):.+?)\s+({relations})\s+((?:{kinds}):.*?)\s*", sentence)
    return parts.groups() if parts is not None else sentence.split()


def _entity(document: Document, place: Sequence[str | int], text: str) -> tuple[str, str]:
    kind, _, name = text.partition(":")
    if kind not in catalogue.kinds() or not name:
        accepted = ", ".join(catalogue.kinds())
        raise document.error(place, f"{text!r} is not kind:name; kinds: {accepted}")
    return kind, name
