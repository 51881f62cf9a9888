"""sanpath.yaml: the sources to read and what people know about the topology; every mistake with file, line and key.

A secret in it is a reference, never a value: env:NAME, file:PATH or keyring:SERVICE/USER.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
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
_TOPOLOGY_KEYS = ("things", "links")
_JOIN_KEYS = ("wwpn", "naa", "eui", "nqn", "iqn", "mac", "ip", "serial")


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
    lines: dict[tuple[str | int, ...], int] = field(default_factory=dict)

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
        raise ConfigError(path, line, "", f"not valid YAML: {_without_values(error.problem)}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(path, None, "", f"not valid YAML: {_without_values(str(error))}") from error
    document = _Document(path)
    _note_lines(document, tree, ())
    return _check(document, raw)


def _without_values(problem: str | None) -> str:
    """One line. YAML quotes the word it stumbled over (*alias, !tag): it may be a secret that was written down."""
    return " ".join(re.sub(r"'[^']{3,}'", "'…'", problem or "").split())


def _check(document: _Document, raw: Any) -> Config:
    if raw is None:
        return Config(document.path)
    if not isinstance(raw, dict):
        raise document.error((), f"expected a mapping with the keys {' and '.join(_KEYS)}")
    for key in raw:
        if key not in _KEYS:
            raise document.error((str(key),), _unknown_key(str(key), _KEYS))
    topology = raw.get("topology") or {}
    if not isinstance(topology, dict):
        raise document.error(("topology",), f"expected a mapping with the keys {' and '.join(_TOPOLOGY_KEYS)}")
    for key in topology:
        if key not in _TOPOLOGY_KEYS:
            raise document.error(("topology", str(key)), _unknown_key(str(key), _TOPOLOGY_KEYS))
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
        accepted = registry.names()
        raise document.error(
            (*where, "collector"),
            f"no collector is called {name!r}; {_near(str(name), accepted)}accepted: {', '.join(accepted)}",
        )
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
    if error["type"] == "extra_forbidden":
        return _unknown_key(str(error["loc"][0]), sorted(schema.model_fields))
    if error["type"] == "missing":
        return "is required"
    return str(error["msg"])


def _unknown_key(key: str, accepted: Sequence[str]) -> str:
    return f"unknown key; {_near(key, accepted)}accepted: {', '.join(accepted)}"


def _near(word: str, accepted: Sequence[str]) -> str:
    near = get_close_matches(word, accepted, n=1)
    return f"did you mean {near[0]}? " if near else ""


def _resolve(
    document: _Document, where: tuple[str | int, ...], schema: type[SourceConfig], key: str, value: Any
) -> Any:
    """Secrets by reference and paths relative to the file."""
    declared = schema.model_fields.get(key)
    if declared is None:
        return value
    types = {declared.annotation, *get_args(declared.annotation)}
    if SecretStr in types:
        secret = _secret(document, where, value)
        if not secret:
            raise document.error(where, "the secret that it refers to is empty")
        return SecretStr(secret)
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


def _from_keyring(document: _Document, where: tuple[str | int, ...], service: str, user: str) -> str:
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


def _things(document: _Document, raw: Any) -> tuple[Thing, ...]:
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
        things.append(Thing(kind, local_id, local_id, ids, attributes))
    return tuple(things)


def _join_values(document: _Document, where: tuple[str | int, ...], value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    for one in values:
        if not isinstance(one, str):
            # 21:00:00:24 is a number to base 60, 0012 one to base 8: the identifier itself is lost.
            raise document.error(where, f"put it in quotes: YAML has read {one!r} instead of a text")
    return tuple(values)


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


def _note_lines(
    document: _Document, node: yaml.Node | None, at: tuple[str | int, ...], above: tuple[yaml.Node, ...] = ()
) -> None:
    """Note the line of every key. Raises ConfigError for a key given twice, of which YAML would keep the last."""
    if node is None or node in above:
        return
    document.lines.setdefault(at, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            line = key.start_mark.line + 1
            if (here := (*at, key.value)) in document.lines:
                raise ConfigError(
                    document.path, line, ".".join(map(str, here)), f"given before, in line {document.lines[here]}"
                )
            document.lines[here] = line
            _note_lines(document, value, here, (*above, node))
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            _note_lines(document, value, (*at, number), (*above, node))
