"""A site's settings for the rules: policy, limits and accepted findings; the section `rules` of sanpath.yaml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sanpath.config import DEFAULT_NAME, default_config
from sanpath.errors import UsageError
from sanpath.masking import printable
from sanpath.rulebook.model import ChangedLimit, Finding, Rule
from sanpath.rulebook.rule_files import find_rule, usable_rulebook
from sanpath.rulebook.site.options import POLICIES, Choice, PolicyName
from sanpath.rulebook.site.policy import Policy, apply_policy, built_in_policy
from sanpath.yaml_document import Document, read_document, unknown_key

_KEYS = ("policy", "limits", "suppress")
_SUPPRESS_KEYS = ("rule", "entity", "reason", "until")


@dataclass(frozen=True, slots=True)
class Suppression:
    """A rule whose findings are accepted up to and including a day, and the reason.

    `entity`: a pattern of entities, `*` matches any text."""

    rule: str
    entity: str
    reason: str
    until: date

    def covers(self, finding: Finding) -> bool:
        """Return whether the suppression covers this finding, regardless of the day."""
        return self.rule == finding.rule and fnmatchcase(finding.entity, self.entity)


@dataclass(frozen=True, slots=True)
class Site:
    """The settings of a site. `refused`: messages about invalid rule files, which are not used."""

    policy: PolicyName | None = None
    limits: tuple[ChangedLimit, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    refused: tuple[str, ...] = ()


def rules_of(choice: Choice) -> tuple[tuple[Rule, ...], Site]:
    """Return the rules with the limits of policy and site, and the site's settings.

    Raises ConfigError for a mistake in the configuration, UsageError for a folder or file that cannot be read.
    """
    available, refused = usable_rulebook(choice.folder)
    document, raw = _rules_section(choice.config)
    name = choice.policy or _policy_name(document, raw.get("policy"))
    rules = (
        apply_policy(available, built_in_policy(available, name), f"policy {name}") if name is not None else available
    )
    limits = _limits(document, raw.get("limits"), available)
    rules = apply_policy(rules, limits, document.path.name)
    changed = tuple(_changed_limits(available, rules))
    return rules, Site(name, changed, tuple(_suppressions(document, raw.get("suppress"), available)), refused)


def _rules_section(path: Path | None) -> tuple[Document, Mapping[str, Any]]:
    """Return the section `rules` of a configuration. Nothing else is read: judging must not need secrets."""
    path = path or default_config()
    if path is None:
        return Document(Path(DEFAULT_NAME)), {}
    document, raw = read_document(path)
    section = raw.get("rules") if isinstance(raw, dict) else None
    if section is None:
        return document, {}
    if not isinstance(section, dict):
        raise document.error(("rules",), f"expected a mapping with the keys {', '.join(_KEYS)}")
    for key in section:
        if key not in _KEYS:
            raise document.error(("rules", str(key)), unknown_key(str(key), _KEYS))
    return document, section


def _policy_name(document: Document, value: Any) -> PolicyName | None:
    if value is None:
        return None
    for name in POLICIES:
        if name == value:
            return name
    raise document.error(("rules", "policy"), f"no policy is called {value!r}; there are {', '.join(POLICIES)}")


def _limits(document: Document, raw: Any, rules: Sequence[Rule]) -> Policy:
    place: tuple[str | int, ...] = ("rules", "limits")
    if not isinstance(raw, dict | None):
        raise document.error(place, "expected a mapping of rules to limits")
    for rule_id, values in (raw or {}).items():
        if not isinstance(values, dict):
            raise document.error((*place, str(rule_id)), "expected a mapping of limits to numbers")
        try:
            apply_policy(rules, {str(rule_id): values})
        except UsageError as error:
            raise document.error((*place, str(rule_id)), str(error)) from None
    return raw or {}


def _changed_limits(original: Sequence[Rule], rules: Sequence[Rule]) -> Iterator[ChangedLimit]:
    for before, after in zip(original, rules, strict=True):
        for name, limit in after.limits.items():
            if limit != before.limits[name]:
                yield ChangedLimit(after.id, name, limit.value, before.limits[name].value, limit.source)


def _suppressions(document: Document, raw: Any, rules: Sequence[Rule]) -> Iterator[Suppression]:
    place: tuple[str | int, ...] = ("rules", "suppress")
    if not isinstance(raw, list | None):
        raise document.error(place, "expected a list of suppressions")
    for number, item in enumerate(raw or ()):
        item_place = (*place, number)
        if not isinstance(item, dict):
            raise document.error(item_place, f"expected a mapping with the keys {', '.join(_SUPPRESS_KEYS)}")
        for key in item:
            if key not in _SUPPRESS_KEYS:
                raise document.error((*item_place, str(key)), unknown_key(str(key), _SUPPRESS_KEYS))
        for key in ("rule", "reason", "until"):
            if not item.get(key):
                raise document.error((*item_place, key), "is required: a suppression has a rule, a reason and an end")
        try:
            rule = find_rule(rules, str(item["rule"]))
        except UsageError as error:
            raise document.error((*item_place, "rule"), str(error)) from None
        if type(item["until"]) is not date:
            raise document.error((*item_place, "until"), "expected a day, such as 2027-03-31")
        yield Suppression(rule.id, str(item.get("entity") or "*"), printable(str(item["reason"])), item["until"])
