"""How a site has the rules judge: policy, limits of its own and what it has accepted; the `rules` of sanpath.yaml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sanpath.config import DEFAULT_NAME
from sanpath.document import Document, read_document, unknown_key
from sanpath.errors import UsageError
from sanpath.rulebook.load import find_rule, usable_rulebook
from sanpath.rulebook.model import POLICIES, Finding, PolicyName, Rule
from sanpath.rulebook.policy import Policy, apply_policy, shipped
from sanpath.rulebook.text import printable

_KEYS = ("policy", "limits", "suppress")
_SUPPRESS_KEYS = ("rule", "entity", "reason", "until")


@dataclass(frozen=True, slots=True)
class Choice:
    """What a command line names. `folder`: rules of one's own; `config` None: sanpath.yaml here, if there is one;
    `policy` None: the configuration's."""

    folder: Path | None = None
    config: Path | None = None
    policy: PolicyName | None = None

    def words(self) -> list[str]:
        """As arguments of another process: folder, configuration, policy; "" for what was not named."""
        return [str(word or "") for word in (self.folder, self.config, self.policy)]

    @classmethod
    def of(cls, words: Sequence[str]) -> Choice:
        """What `words` gave; none at all: nothing was named."""
        folder, config, policy = (*words, "", "", "")[:3]
        name = next((name for name in POLICIES if name == policy), None)
        return cls(Path(folder) if folder else None, Path(config) if config else None, name)


@dataclass(frozen=True, slots=True)
class Suppression:
    """Findings of a rule that somebody has accepted up to and including a day, and why. `entity`: for which things,
    `*` standing for any text."""

    rule: str
    entity: str
    reason: str
    until: date

    def covers(self, finding: Finding) -> bool:
        """Whether it is about this finding, at any time."""
        return self.rule == finding.rule and fnmatchcase(finding.entity, self.entity)


@dataclass(frozen=True, slots=True)
class ChangedLimit:
    """A limit that is not the rule's own, and who set it."""

    rule: str
    limit: str
    value: float
    instead_of: float
    source: str


@dataclass(frozen=True, slots=True)
class Site:
    """What a site has set. `refused`: mistakes of rule files that are not used."""

    policy: PolicyName | None = None
    limits: tuple[ChangedLimit, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    refused: tuple[str, ...] = ()


def rules_of(choice: Choice) -> tuple[tuple[Rule, ...], Site]:
    """The rules with the limits of policy and site, and what the site has set.

    Raises ConfigError for a mistake in the configuration, UsageError for a folder or file that cannot be read.
    """
    own, refused = usable_rulebook(choice.folder)
    document, raw = _rules_part(choice.config)
    name = choice.policy or _policy_name(document, raw.get("policy"))
    rules = apply_policy(own, shipped(own, name), f"policy {name}") if name is not None else own
    limits = _limits(document, raw.get("limits"), own)
    rules = apply_policy(rules, limits, document.path.name)
    changed = tuple(_changed(own, rules))
    return rules, Site(name, changed, tuple(_suppressions(document, raw.get("suppress"), own)), refused)


def _rules_part(path: Path | None) -> tuple[Document, Mapping[str, Any]]:
    """The `rules` of a configuration; nothing else of it is read, so that judging asks for no secret."""
    if path is None:
        path = Path(DEFAULT_NAME)
        if not path.exists():
            return Document(path), {}
    document, raw = read_document(path)
    part = raw.get("rules") if isinstance(raw, dict) else None
    if part is None:
        return document, {}
    if not isinstance(part, dict):
        raise document.error(("rules",), f"expected a mapping with the keys {', '.join(_KEYS)}")
    for key in part:
        if key not in _KEYS:
            raise document.error(("rules", str(key)), unknown_key(str(key), _KEYS))
    return document, part


def _policy_name(document: Document, value: Any) -> PolicyName | None:
    if value is None:
        return None
    for name in POLICIES:
        if name == value:
            return name
    raise document.error(("rules", "policy"), f"no policy is called {value!r}; there are {', '.join(POLICIES)}")


def _limits(document: Document, raw: Any, rules: Sequence[Rule]) -> Policy:
    where: tuple[str | int, ...] = ("rules", "limits")
    if not isinstance(raw, dict | None):
        raise document.error(where, "expected a mapping, rule to limits")
    for rule_id, values in (raw or {}).items():
        if not isinstance(values, dict):
            raise document.error((*where, str(rule_id)), "expected a mapping, limit to number")
        try:
            apply_policy(rules, {str(rule_id): values})
        except UsageError as error:
            raise document.error((*where, str(rule_id)), str(error)) from None
    return raw or {}


def _changed(own: Sequence[Rule], rules: Sequence[Rule]) -> Iterator[ChangedLimit]:
    for before, after in zip(own, rules, strict=True):
        for name, limit in after.limits.items():
            if limit != before.limits[name]:
                yield ChangedLimit(after.id, name, limit.value, before.limits[name].value, limit.source)


def _suppressions(document: Document, raw: Any, rules: Sequence[Rule]) -> Iterator[Suppression]:
    where: tuple[str | int, ...] = ("rules", "suppress")
    if not isinstance(raw, list | None):
        raise document.error(where, "expected a list of suppressions")
    for number, body in enumerate(raw or ()):
        here = (*where, number)
        if not isinstance(body, dict):
            raise document.error(here, f"expected a mapping with the keys {', '.join(_SUPPRESS_KEYS)}")
        for key in body:
            if key not in _SUPPRESS_KEYS:
                raise document.error((*here, str(key)), unknown_key(str(key), _SUPPRESS_KEYS))
        for key in ("rule", "reason", "until"):
            if not body.get(key):
                raise document.error((*here, key), "is required: a suppression has a rule, a reason and an end")
        try:
            rule = find_rule(rules, str(body["rule"]))
        except UsageError as error:
            raise document.error((*here, "rule"), str(error)) from None
        if type(body["until"]) is not date:
            raise document.error((*here, "until"), "expected a day, such as 2027-03-31")
        yield Suppression(rule.id, str(body.get("entity") or "*"), printable(str(body["reason"])), body["until"])
