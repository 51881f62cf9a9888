"""sanpath.yaml: the sources to read and what people know about the topology; every mistake with file, line and key.

A secret in it is a reference, never a value: env:NAME, file:PATH or keyring:SERVICE/USER.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import SecretStr, ValidationError

from sanpath import registry
from sanpath.catalogue import load as catalogue
from sanpath.errors import ConfigError, UsageError
from sanpath.model import Scalar, Thing, Tie
from sanpath.plugin import SourceConfig

DEFAULT_NAME = "sanpath.yaml"
_KEYS = ("sources", "topology")
_JOIN_KEYS = ("wwpn", "naa", "nqn", "iqn", "mac", "ip", "serial")


@dataclass(frozen=True, slots=True)
class Config:
    """A checked configuration. `things` and `ties` are what the `topology` part says, as if a source had said it."""

    path: Path | None
    sources: tuple[SourceConfig, ...] = ()
    things: tuple[Thing, ...] = ()
    ties: tuple[Tie, ...] = ()


@dataclass(frozen=True, slots=True)
class _Document:
    path: Path
    lines: Mapping[tuple[str | int, ...], int] = field(default_factory=dict)

    def error(self, where: Sequence[str | int], problem: str) -> ConfigError:
        """The mistake at a key, or at the nearest key above it that stands in the text."""
        at = tuple(where)
        while at and at not in self.lines:
            at = at[:-1]
        key = ".".join(str(part) for part in where)
        return ConfigError(self.path, self.lines.get(at), key, problem)


def load_config(path: Path | None) -> Config:
    """Read and check a configuration; None: `sanpath.yaml` here, or an empty one when there is none.

    Raises ConfigError for the first mistake found, UsageError when a named file cannot be read.
    """
    if path is None:
        path = Path(DEFAULT_NAME)
        if not path.exists():
            return Config(None)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8 text") from error
    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        raw = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise ConfigError(path, line, "", f"not valid YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise ConfigError(path, None, "", f"not valid YAML: {error}") from error
    lines: dict[tuple[str | int, ...], int] = {}
    _note_lines(tree, (), lines)
    return _check(_Document(path, lines), raw)


def _check(document: _Document, raw: Any) -> Config:
    if raw is None:
        return Config(document.path)
    if not isinstance(raw, dict):
        raise document.error((), f"expected a mapping with the keys {' and '.join(_KEYS)}")
    for key in raw:
        if key not in _KEYS:
            raise document.error((key,), f"unknown key; accepted: {', '.join(_KEYS)}")
    topology = raw.get("topology") or {}
    if not isinstance(topology, dict) or not topology.keys() <= {"things", "links"}:
        raise document.error(("topology",), "accepted keys: things, links")
    return Config(
        document.path,
        _sources(document, raw.get("sources") or []),
        _things(document, topology.get("things") or {}),
        _ties(document, topology.get("links") or []),
    )


def _sources(document: _Document, raw: Any) -> tuple[SourceConfig, ...]:
    if not isinstance(raw, list):
        raise document.error(("sources",), "expected a list of sources")
    checked: list[SourceConfig] = []
    for number, body in enumerate(raw):
        where = ("sources", number)
        if not isinstance(body, dict):
            raise document.error(where, "expected a mapping with name and collector")
        source = _source(document, where, body)
        if any(source.name == other.name for other in checked):
            raise document.error((*where, "name"), f"two sources are called {source.name!r}")
        checked.append(source)
    return tuple(checked)


def _source(document: _Document, where: tuple[str | int, ...], body: dict[str, Any]) -> SourceConfig:
    name = body.get("collector")
    if not isinstance(name, str) or name not in registry.names():
        accepted = ", ".join(registry.names())
        raise document.error((*where, "collector"), f"no collector is called {name!r}; accepted: {accepted}")
    try:
        schema = registry.spec(name).config
    except UsageError as error:
        raise document.error((*where, "collector"), str(error)) from error
    if schema is None:
        raise document.error((*where, "collector"), f"{name} reads load commands (sanpath run -- …), not sources")
    values = {key: _resolve(document, (*where, key), schema, key, value) for key, value in body.items()}
    try:
        return schema.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise document.error((*where, *first["loc"]), _problem(first, schema)) from None


def _problem(error: Any, schema: type[SourceConfig]) -> str:
    known = sorted(schema.model_fields)
    if error["type"] == "extra_forbidden":
        near = get_close_matches(str(error["loc"][0]), known, n=1)
        return f"unknown key; {f'did you mean {near[0]}? ' if near else ''}accepted: {', '.join(known)}"
    if error["type"] == "missing":
        return "is required"
    return str(error["msg"])


def _resolve(
    document: _Document, where: tuple[str | int, ...], schema: type[SourceConfig], key: str, value: Any
) -> Any:
    """Secrets by reference and paths relative to the file."""
    declared = schema.model_fields.get(key)
    if declared is None:
        return value
    types = {declared.annotation, *get_args(declared.annotation)}
    if SecretStr in types:
        return SecretStr(_secret(document, where, value))
    if Path in types and isinstance(value, str):
        return document.path.parent / value
    return value


def _secret(document: _Document, where: tuple[str | int, ...], reference: Any) -> str:
    scheme, _, rest = str(reference).partition(":")
    if scheme == "env" and rest:
        if rest not in os.environ:
            raise document.error(where, f"the environment variable {rest} is not set")
        return os.environ[rest]
    if scheme == "file" and rest:
        try:
            return (document.path.parent / Path(rest).expanduser()).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise document.error(where, f"the file {rest} cannot be read: {error}") from error
    if scheme == "keyring" and "/" in rest:
        service, _, user = rest.partition("/")
        return _from_keyring(document, where, service, user)
    # The value itself is not repeated: it may be the secret.
    raise document.error(where, "must be a reference (env:NAME, file:PATH or keyring:SERVICE/USER), never the secret")


def _from_keyring(document: _Document, where: tuple[str | int, ...], service: str, user: str) -> str:
    try:
        import keyring  # an extra: most machines under test have no key ring
    except ImportError:
        raise document.error(where, "needs the package keyring (pip install keyring)") from None
    found = keyring.get_password(service, user)
    if found is None:
        raise document.error(where, f"the key ring has no password for {service}/{user}")
    return str(found)


def _things(document: _Document, raw: Any) -> tuple[Thing, ...]:
    if not isinstance(raw, dict):
        raise document.error(("topology", "things"), 'expected a mapping, "kind:name" to what is known of it')
    things = []
    for name, body in raw.items():
        where = ("topology", "things", name)
        kind, local_id = _entity(document, where, str(name))
        if body is not None and not isinstance(body, dict):
            raise document.error(where, "expected a mapping of join keys and attributes")
        body = body or {}
        ids: dict[str, tuple[str, ...]] = {
            key: tuple(str(v) for v in (body[key] if isinstance(body[key], list) else [body[key]]))
            for key in body.keys() & set(_JOIN_KEYS)
        }
        attributes: dict[str, Scalar] = {key: body[key] for key in body if key not in _JOIN_KEYS}
        things.append(Thing(kind, local_id, local_id, {**ids, "name": (local_id,)}, attributes))
    return tuple(things)


def _ties(document: _Document, raw: Any) -> tuple[Tie, ...]:
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
        ties.append(Tie(words[1], ends[0], ends[1], f"{document.path.name}: {sentence}"))
    return tuple(ties)


def _entity(document: _Document, where: Sequence[str | int], text: str) -> tuple[str, str]:
    kind, _, name = text.partition(":")
    if kind not in catalogue.kinds() or not name:
        accepted = ", ".join(catalogue.kinds())
        raise document.error(where, f"{text!r} is not kind:name; kinds: {accepted}")
    return kind, name


def _note_lines(node: yaml.Node | None, at: tuple[str | int, ...], lines: dict[tuple[str | int, ...], int]) -> None:
    if node is None:
        return
    lines.setdefault(at, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            lines[(*at, key.value)] = key.start_mark.line + 1
            _note_lines(value, (*at, key.value), lines)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            _note_lines(value, (*at, number), lines)
