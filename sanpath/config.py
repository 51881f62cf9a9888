"""sanpath.yaml: the sources to read and what people know about the topology; every mistake with file, line and key.

A secret in it is a reference, never a value: env:NAME, file:PATH or keyring:SERVICE/USER.
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
from sanpath.catalogue import load as catalogue
from sanpath.document import Document, near, read_document, unknown_key
from sanpath.errors import ConfigError, ConfigMistakesError, UsageError
from sanpath.model import Scalar, SourceEntity, SourceLink
from sanpath.plugin import SourceConfig, SshTarget

DEFAULT_NAME = "sanpath.yaml"
_KEYS = ("sources", "topology", "hosts", "recording", "rules")
"""`rules` is for those who judge (rulebook/site.py)."""
_TOPOLOGY_KEYS = ("things", "links")
_RECORDING_KEYS = ("keep",)
_UNITS_SECONDS = {"m": 60, "h": 3600, "d": 86400}
SHORTEST_KEPT_SECONDS = 600.0
"""Samples are dropped some minutes at a time: of less there would be nothing left to judge."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
_JOIN_KEYS = ("wwpn", "naa", "eui", "nqn", "iqn", "mac", "ip", "serial")


@dataclass(frozen=True, slots=True)
class Config:
    """A checked configuration. `things` and `ties` are what the `topology` part says, as if a source had said it;
    `hosts`: machines on which sanpath can start a load, by name. `keep_seconds`: how long samples are kept, None: for
    ever. `warnings`: secrets that others can read."""

    path: Path | None
    sources: tuple[SourceConfig, ...] = ()
    entities: tuple[SourceEntity, ...] = ()
    links: tuple[SourceLink, ...] = ()
    hosts: Mapping[str, SshTarget] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    keep_seconds: float | None = None


class HostConfig(BaseModel):
    """How to log in to a host over SSH. Its host key has to be known: it is never accepted unseen."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: str | None = Field(default=None, min_length=1)
    port: int | None = Field(default=None, ge=1, le=65535)
    user: str | None = Field(default=None, min_length=1)
    key_file: Path | None = None
    known_hosts: Path | None = None
    password: SecretStr | None = None


def load_config(path: Path | None, only: Collection[str] = ()) -> Config:
    """Read and check a configuration; None: `sanpath.yaml` here, or an empty one when there is none. `only`: sources
    that will be read, none: all; the secrets of others need not be there, and are not looked for.

    Raises ConfigError for a mistake, ConfigMistakesError for several, UsageError when a named file cannot be read.
    """
    if path is None:
        path = Path(DEFAULT_NAME)
        if not path.exists():
            return Config(None)
    return _check(*read_document(path), only)


def source_of(body: dict[str, Any], beside: Path = Path("command line")) -> SourceConfig:
    """A source that was told by its keys, and not in a file; paths are relative to `beside`. Raises ConfigError."""
    return _source(Document(beside), (), body)


def _check(document: Document, raw: Any, only: Collection[str]) -> Config:
    if raw is None:
        return Config(document.path)
    if not isinstance(raw, dict):
        raise document.error((), f"expected a mapping with the keys {', '.join(_KEYS)}")
    mistakes = _Mistakes()
    mistakes.unknown(document, (), raw, _KEYS)
    topology = raw.get("topology") or {}
    if not isinstance(topology, dict):
        wanted = " and ".join(_TOPOLOGY_KEYS)
        mistakes.found.append(document.error(("topology",), f"expected a mapping with the keys {wanted}"))
        topology = {}
    mistakes.unknown(document, ("topology",), topology, _TOPOLOGY_KEYS)
    config = Config(
        document.path,
        mistakes.of(lambda: _sources(document, raw.get("sources") or [], only), ()),
        mistakes.of(lambda: _things(document, topology.get("things") or {}), ()),
        mistakes.of(lambda: _ties(document, topology.get("links") or []), ()),
        mistakes.of(lambda: _hosts(document, raw.get("hosts") or {}), {}),
        tuple(dict.fromkeys(document.warnings)),
        mistakes.of(lambda: _keep_seconds(document, raw.get("recording") or {}), None),
    )
    mistakes.end()
    return config


class _Mistakes:
    """All that is wrong with a file, so that it is mended in one go."""

    def __init__(self) -> None:
        self.found: list[ConfigError] = []

    def of(self, read: Callable[[], T], otherwise: T) -> T:
        """What `read` gives; `otherwise` where that is a mistake."""
        try:
            return read()
        except ConfigMistakesError as several:
            self.found += several.mistakes
        except ConfigError as one:
            self.found.append(one)
        return otherwise

    def unknown(
        self, document: Document, where: tuple[str, ...], body: Mapping[Any, Any], accepted: Sequence[str]
    ) -> None:
        """Keys that nobody reads."""
        for key in body:
            if key not in accepted:
                self.found.append(document.error((*where, str(key)), unknown_key(str(key), accepted)))

    def end(self) -> None:
        """Raises ConfigError where something was found."""
        if len(self.found) > 1:
            raise ConfigMistakesError(sorted(self.found, key=lambda mistake: mistake.line or 0))
        if self.found:
            raise self.found[0]


def kept_seconds(text: str) -> float:
    """How long samples are to be kept: 90m, 24h, 7d. Raises UsageError."""
    found = re.fullmatch(r"(\d{1,6})([mhd])", text.strip())
    if found is None:
        raise UsageError(f"{text!r} is no time: write minutes, hours or days as 90m, 24h or 7d")
    seconds = float(found[1]) * _UNITS_SECONDS[found[2]]
    if seconds < SHORTEST_KEPT_SECONDS:
        raise UsageError(f"{text} is too short to be judged: keep samples for 10m at least")
    return seconds


def _keep_seconds(document: Document, raw: Any) -> float | None:
    if not isinstance(raw, dict):
        raise document.error(("recording",), f"expected a mapping with the key {_RECORDING_KEYS[0]}")
    for key in raw:
        if key not in _RECORDING_KEYS:
            raise document.error(("recording", str(key)), unknown_key(str(key), _RECORDING_KEYS))
    if (told := raw.get("keep")) is None:
        return None
    try:
        return kept_seconds(str(told))
    except UsageError as error:
        raise document.error(("recording", "keep"), str(error)) from error


def _sources(document: Document, raw: Any, only: Collection[str]) -> tuple[SourceConfig, ...]:
    if not isinstance(raw, list):
        raise document.error(("sources",), "expected a list of sources")
    mistakes, checked = _Mistakes(), list[SourceConfig]()
    for number, body in enumerate(raw):
        where = ("sources", number)
        if not isinstance(body, dict):
            mistakes.found.append(document.error(where, "expected a mapping with name and collector"))
            continue
        is_read = not only or body.get("name") in only
        source = mistakes.of(partial(_source, document, where, body, is_read), None)
        if source is not None and any(source.name == other.name for other in checked):
            mistakes.found.append(document.error((*where, "name"), f"two sources are called {source.name!r}"))
        elif source is not None:
            checked.append(source)
    mistakes.end()
    return tuple(checked)


def _source(
    document: Document, where: tuple[str | int, ...], body: dict[str, Any], is_read: bool = True
) -> SourceConfig:
    if "collector" not in body:
        meant = get_close_matches("collector", [str(key) for key in body], 1)
        if meant:
            raise document.error((*where, meant[0]), "unknown key; did you mean collector?")
        raise document.error((*where, "collector"), f"is required; accepted: {', '.join(registry.names())}")
    name = body["collector"]
    if not isinstance(name, str) or name not in registry.names():
        accepted = registry.names()
        raise document.error(
            (*where, "collector"),
            f"no collector is called {name!r}; {near(str(name), accepted)}accepted: {', '.join(accepted)}",
        )
    try:
        schema = registry.spec(name).config
    except UsageError as error:
        raise document.error((*where, "collector"), str(error)) from error
    if schema is None:
        raise document.error((*where, "collector"), f"{name} reads load commands (sanpath run -- …), not sources")
    return _validated(document, where, schema, body, is_read)


def _hosts(document: Document, raw: Any) -> dict[str, SshTarget]:
    if not isinstance(raw, dict):
        raise document.error(("hosts",), "expected a mapping, a host's name to how to log in")
    found = {}
    for name, body in raw.items():
        where = ("hosts", str(name))
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", str(name)) or name == "local":
            raise document.error(
                where, "a host's name has letters, digits, _, . and -; local is the one sanpath runs on"
            )
        if not isinstance(body, dict | None):
            raise document.error(where, f"expected a mapping with the keys {', '.join(HostConfig.model_fields)}")
        host = _validated(document, where, HostConfig, body or {})
        found[str(name)] = SshTarget(
            host.address or str(name), host.port, host.user, host.key_file, host.password, host.known_hosts
        )
    return found


def _validated(
    document: Document, where: tuple[str | int, ...], schema: type[M], body: dict[str, Any], is_read: bool = True
) -> M:
    """A part of the file by its schema, paths resolved; secrets too, unless it will not be read."""
    mistakes, values = _Mistakes(), dict[str, Any]()
    for key, value in body.items():
        resolve = partial(_resolve, document, (*where, key), schema, key, value, is_read)
        values[key] = mistakes.of(resolve, _MISTAKEN)
    try:
        found = schema.model_validate(values)
    except ValidationError as error:
        for one in error.errors(include_url=False, include_context=False):
            if one["input"] is not _MISTAKEN:
                mistakes.found.append(document.error((*where, *one["loc"]), _problem(one, schema)))
        mistakes.end()
        raise
    mistakes.end()
    return found


_MISTAKEN = object()
"""Stands for a value whose mistake is known already."""


def _problem(error: Any, schema: type[BaseModel]) -> str:
    if error["type"] == "extra_forbidden":
        return unknown_key(str(error["loc"][0]), sorted(schema.model_fields))
    if error["type"] == "missing":
        return "is required"
    return str(error["msg"])


def _resolve(
    document: Document, where: tuple[str | int, ...], schema: type[BaseModel], key: str, value: Any, is_read: bool
) -> Any:
    """Secrets by reference and paths relative to the file."""
    declared = schema.model_fields.get(key)
    if declared is None:
        return value
    types = {declared.annotation, *get_args(declared.annotation)}
    if SecretStr in types:
        secret = _secret(document, where, value) if is_read else "of no use here"
        if not secret:
            raise document.error(where, "the secret that it refers to is empty")
        return SecretStr(secret)
    if Path in types and isinstance(value, str):
        try:
            return document.path.parent / Path(value).expanduser()
        except RuntimeError as error:
            raise document.error(where, f"{error}") from error
    return value


def _secret(document: Document, where: tuple[str | int, ...], reference: Any) -> str:
    scheme, _, rest = str(reference).partition(":")
    if scheme == "env" and rest:
        if rest not in os.environ:
            raise document.error(where, f"the environment variable {rest} is not set")
        return os.environ[rest]
    if scheme == "file" and rest:
        try:
            file = document.path.parent / Path(rest).expanduser()
            if os.name == "posix" and file.stat().st_mode & _OTHERS:
                document.warnings.append(f"{rest}: holds a secret that other users can read; chmod 600 {rest}")
            return file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError, RuntimeError) as error:
            raise document.error(where, f"the file {rest} cannot be read: {_reason(error)}") from error
    if scheme == "keyring" and "/" in rest:
        service, _, user = rest.partition("/")
        return _from_keyring(document, where, service, user)
    # The value itself is not repeated: it may be the secret.
    raise document.error(where, "must be a reference (env:NAME, file:PATH or keyring:SERVICE/USER), never the secret")


def _reason(error: Exception) -> str:
    """Why, without the bytes that could not be decoded: they may be those of a secret."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _from_keyring(document: Document, where: tuple[str | int, ...], service: str, user: str) -> str:
    try:
        import keyring  # an extra: most machines under test have no key ring
    except ImportError:
        raise document.error(where, "needs the package keyring (pip install keyring)") from None
    try:
        found = keyring.get_password(service, user)
    except Exception as error:  # each platform's key ring has errors of its own
        raise document.error(where, f"the key ring cannot be read: {error}") from error
    if found is None:
        raise document.error(where, f"the key ring has no password for {service}/{user}")
    return str(found)


def _things(document: Document, raw: Any) -> tuple[SourceEntity, ...]:
    if not isinstance(raw, dict):
        raise document.error(("topology", "things"), 'expected a mapping, "kind:name" to what is known of it')
    things = []
    for name, body in raw.items():
        where = ("topology", "things", name)
        kind, local_id = _entity(document, where, str(name))
        if body is not None and not isinstance(body, dict):
            raise document.error(where, "expected a mapping of join keys and attributes")
        ids: dict[str, tuple[str, ...]] = {"name": (local_id,)}
        attributes: dict[str, Scalar] = {}
        for key, value in (body or {}).items():
            if key in _JOIN_KEYS:
                ids[key] = _join_values(document, (*where, key), value)
            elif value is None or isinstance(value, str | int | float):
                attributes[str(key)] = value
            else:
                raise document.error((*where, str(key)), "expected a text, a number, true or false")
        things.append(SourceEntity(kind, local_id, local_id, ids, attributes))
    return tuple(things)


def _join_values(document: Document, where: tuple[str | int, ...], value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    for one in values:
        if not isinstance(one, str):
            # 21:00:00:24 is a number to base 60, 0012 one to base 8: the identifier itself is lost.
            raise document.error(where, f"put it in quotes: YAML has read {one!r} instead of a text")
    return tuple(values)


def _ties(document: Document, raw: Any) -> tuple[SourceLink, ...]:
    if not isinstance(raw, list):
        raise document.error(("topology", "links"), 'expected a list of "kind:name relation kind:name"')
    ties = []
    for number, sentence in enumerate(raw):
        where = ("topology", "links", number)
        words = str(sentence).split()
        if len(words) != 3:
            raise document.error(where, 'expected "kind:name relation kind:name"')
        if words[1] not in catalogue.relations():
            raise document.error(
                where, f"no relation is called {words[1]!r}; accepted: {', '.join(catalogue.relations())}"
            )
        ends = _entity(document, where, words[0]), _entity(document, where, words[2])
        ties.append(SourceLink(words[1], ends[0], ends[1], f"{document.path.name}: {sentence}"))
    return tuple(ties)


def _entity(document: Document, where: Sequence[str | int], text: str) -> tuple[str, str]:
    kind, _, name = text.partition(":")
    if kind not in catalogue.kinds() or not name:
        accepted = ", ".join(catalogue.kinds())
        raise document.error(where, f"{text!r} is not kind:name; kinds: {accepted}")
    return kind, name
