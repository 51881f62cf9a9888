"""Reads rule files, the built-in ones and those of a user's folder, and reports every mistake with file and line."""

from __future__ import annotations

import keyword
import os
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import count
from pathlib import Path, PurePosixPath
from reprlib import repr as short_repr
from typing import Any

from pydantic import BaseModel, ValidationError

from sanpath.catalogue import catalogue
from sanpath.errors import ConfigError, UsageError
from sanpath.masking import printable
from sanpath.rulebook import remedy, summary_template
from sanpath.rulebook.condition import ConditionError, compile_condition
from sanpath.rulebook.fact_kinds import FactKind, did_you_mean, fact_kinds, is_kind
from sanpath.rulebook.model import OUTCOMES, Fix, Limit, Rule, RuleTest
from sanpath.rulebook.site.options import POLICIES
from sanpath.yaml_cache import cached
from sanpath.yaml_document import Document, DocumentError, Place, parse

MAX_BYTES = 64 * 1024
"""Larger rule files are refused; the longest built-in one has a tenth of this size."""
_MAX_ENTRIES = 10_000
"""Maximum entries of a folder of rules, including everything below it. A link may lead to a whole file system."""

Problem = tuple[Place, str]

_DUPLICATE_ID = "two rules are called {!r}; to change a limit of one, use a policy"


def load_rulebook(folder: Path | None = None) -> tuple[Rule, ...]:
    """Return all built-in rules and those of a folder, of every status, by id. Raises UsageError with every mistake.

    A rule of the folder may not have the id of a built-in one: limits are changed by a policy, not by a copy.
    """
    rules = [*_built_in()]
    if folder is not None:
        rules += read_rules(folder)
    return _by_id(rules)


@cache
def _built_in() -> tuple[Rule, ...]:
    """Return the built-in rules.

    Cached: a live view diagnoses every few seconds, and reading them takes a third of that."""
    return tuple(map(Rule.model_validate, cached("sanpath_rules", "rules", _built_in_contents)))


def _built_in_contents() -> list[dict[str, Any]]:
    """Return the built-in rules as JSON. Raises UsageError with every mistake."""
    rules = _read_all(_yaml_files(files("sanpath_rules"), "sanpath_rules"))
    return [rule.model_dump(mode="json", exclude_unset=True) for rule in rules]


def usable_rulebook(folder: Path | None = None) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Return all built-in rules and the valid ones of a folder, and a message for each invalid file of the folder.

    An invalid file does not affect other rules. Raises UsageError for a folder without rules."""
    rules, refused = {rule.id: rule for rule in load_rulebook()}, []
    for file, shown in _files_at(folder) if folder is not None else ():
        try:
            (rule,) = _read_all([(file, shown)])
        except UsageError as error:
            refused.append(str(error))
            continue
        if rule.id in rules:
            refused.append(_DUPLICATE_ID.format(rule.id))
        rules.setdefault(rule.id, rule)
    return tuple(rules[rule_id] for rule_id in sorted(rules)), tuple(refused)


def read_rules(path: Path) -> tuple[Rule, ...]:
    """Return the rules of one file, or of all files below a folder, by id. Raises UsageError with every mistake."""
    return _by_id(_read_all(_files_at(path)))


def find_rule(rules: Iterable[Rule], rule_id: str) -> Rule:
    """Return the rule with this id. Raises UsageError with the most similar id if there is none."""
    by_id = {rule.id: rule for rule in rules}
    if rule_id not in by_id:
        hint = did_you_mean(rule_id, by_id) or "; sanpath rules list lists them"
        raise UsageError(f"no rule is called {rule_id!r}{hint}")
    return by_id[rule_id]


def load_rule(data: bytes, path_text: str) -> Rule:
    """Return the rule of a file, from its content. `path_text`: its path for messages; its name must match the id.

    Raises UsageError with a line for each mistake.
    """
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path_text}: larger than {MAX_BYTES // 1024} KiB")
    try:
        lines, content = parse(data.decode("utf-8"), strict=True)
    except UnicodeDecodeError:
        raise UsageError(f"{path_text}: the file is not UTF-8 text") from None
    except DocumentError as error:
        raise ConfigError(path_text, error.line, error.key, error.problem) from None
    document = Document(Path(path_text), lines)
    try:
        rule = Rule.model_validate(content)
    except ValidationError as error:
        details = error.errors(include_url=False)
        problems = [_convert_error(detail) for detail in details if not _is_consequence(detail, details)]
        raise _usage_error(document, problems) from None
    problems = list(_problems(rule, PurePosixPath(document.path.as_posix()).stem))
    if problems:
        raise _usage_error(document, problems)
    return rule


def _files_at(path: Path) -> list[tuple[Traversable, str]]:
    if not path.is_dir() and not path.is_file():
        raise UsageError(f"{path}: no such file or folder")
    rule_files: list[tuple[Traversable, str]] = [(path, str(path))]
    if path.is_dir():
        rule_files = list(_yaml_files(path, str(path)))
    if not rule_files:
        raise UsageError(f"{path}: no rule files (*.yaml) in this folder")
    return rule_files


def _yaml_files(folder: Traversable, shown: str) -> Iterator[tuple[Traversable, str]]:
    seen = count(1)
    folders = {_identity(folder)}

    def within(folder: Traversable, shown: str) -> Iterator[tuple[Traversable, str]]:
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
            name = f"{shown}/{entry.name}"
            if next(seen) > _MAX_ENTRIES:
                raise UsageError(f"{name}: more than {_MAX_ENTRIES:,} files and folders: is this a folder of rules?")
            if entry.is_dir():
                # A link to a parent folder would lead to the same files again and again.
                if (identity := _identity(entry)) not in folders:
                    folders.add(identity)
                    yield from within(entry, name)
            elif entry.name.endswith(".yml"):
                raise UsageError(f"{name}: rule files end in .yaml")
            elif entry.name.endswith(".yaml"):
                if isinstance(entry, Path) and entry.exists() and not entry.is_file():
                    raise UsageError(f"{name}: is not a regular file")
                yield entry, name

    yield from within(folder, shown)


def _identity(folder: Traversable) -> str:
    """Return the same text for a folder and for links to it."""
    return os.path.realpath(folder) if isinstance(folder, Path) else str(folder)


def _read_all(rule_files: Iterable[tuple[Traversable, str]]) -> list[Rule]:
    rules, mistakes = [], []
    for file, shown in rule_files:
        try:
            with file.open("rb") as stream:
                rules.append(load_rule(stream.read(MAX_BYTES + 1), shown))
        except OSError as error:
            mistakes.append(f"{shown}: cannot be read: {error.strerror}")
        except UsageError as error:
            mistakes.append(str(error))
    if mistakes:
        raise UsageError("\n".join(mistakes))
    return rules


def _by_id(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    by_id: dict[str, Rule] = {}
    for rule in rules:
        if rule.id in by_id:
            raise UsageError(_DUPLICATE_ID.format(rule.id))
        by_id[rule.id] = rule
    return tuple(by_id[rule_id] for rule_id in sorted(by_id))


def _usage_error(document: Document, problems: Iterable[Problem]) -> UsageError:
    lines = [(document.line(place) or 1, text) for place, text in problems]
    in_order = sorted(lines, key=lambda problem: problem[0])
    return UsageError("\n".join(f"{document.path}:{line}: {text}" for line, text in in_order))


def _problems(rule: Rule, stem: str) -> Iterator[Problem]:
    """Yield mistakes that the schema does not detect: contradictions with the catalogue or within the rule."""
    if rule.id != stem:
        yield ("id",), f"the id is {rule.id!r}, the file is called {stem!r}"
    if rule.each not in catalogue.facts():
        hint = did_you_mean(rule.each, catalogue.facts())
        yield ("each",), f"no fact table is called {rule.each!r}{hint}"
        return
    kinds = fact_kinds(rule.each)
    yield from _limit_problems(rule, kinds)
    numbers = {name for name, kind in kinds.items() if kind == "number"} | rule.limits.keys()
    try:
        summary_template.check(rule.summary, {"entity", *kinds, *rule.limits}, numbers)
    except ValueError as error:
        yield ("summary",), f"summary: {error}"
    for position, fix in enumerate(rule.fix):
        try:
            remedy.check((*fix.commands, fix.scope, fix.verify, fix.undo), kinds)
        except ValueError as error:
            yield ("fix", position, "commands"), str(error)
        for name, value in fix.only_if.items():
            kind = kinds.get(name) or remedy.CONTEXT_FACTS.get(name)
            if kind is None or not is_kind(value, kind):
                yield ("fix", position, "only_if", name), f"no fact is called {name!r}, or it is of another kind"
    yield from _test_problems(rule, kinds)


def _limit_problems(rule: Rule, kinds: dict[str, FactKind]) -> Iterator[Problem]:
    for name in rule.limits:
        if name in kinds or name == "entity" or keyword.iskeyword(name):
            yield ("limits", name), f"a limit cannot be called {name!r}: that name has a meaning already"
        if 0 < [rule.limits[name].under(policy) is None for policy in POLICIES].count(True) < len(POLICIES):
            yield ("limits", name), f"the limit {name!r} needs a value for each of {', '.join(POLICIES)}, or for none"
    try:
        used = compile_condition(rule.when, kinds, rule.limit_values()).limits
    except ConditionError as error:
        yield ("when",), str(error)
        return
    for name in (name for name in rule.limits if name not in used):
        yield ("limits", name), f"the condition does not use the limit {name!r}"


def _test_problems(rule: Rule, kinds: dict[str, FactKind]) -> Iterator[Problem]:
    for position, test in enumerate(rule.tests):
        for name, value in test.facts.items():
            place = ("tests", position, "facts", name)
            if name not in kinds:
                yield place, f"no fact is called {name!r}{did_you_mean(name, kinds)}"
            elif not is_kind(value, kinds[name]):
                yield (
                    place,
                    f"the fact {name!r} is a {kinds[name]}, not {short_repr(value)}{_number_hint(value)}",
                )
        for name in (name for name in test.limits if name not in rule.limits):
            place = ("tests", position, "limits", name)
            yield place, f"no limit is called {name!r}{did_you_mean(name, rule.limits)}"
    for outcome in OUTCOMES:
        if outcome not in {test.expect for test in rule.tests}:
            yield ("tests",), f"no test expects {outcome!r}"


def _convert_error(details: Any) -> Problem:
    """Convert an error of pydantic to the terms of a rule file."""
    # pydantic appends "[key]" to the place if the key itself is wrong.
    place: Place = tuple(element for element in details["loc"] if element != "[key]")
    key = ".".join(printable(str(element)) for element in place) or "the file"
    match details["type"]:
        case "missing":
            return place[:-1], f"the key {key!r} is missing"
        case "extra_forbidden":
            allowed = _keys_at(place[:-1])
            similar = get_close_matches(str(place[-1]), allowed, n=1)
            return place, f"no key is called {key!r}; " + (
                f"did you mean {similar[0]!r}?" if similar else f"there are: {', '.join(allowed)}"
            )
        case "model_type" | "dict_type" | "mapping_type" | "is_instance_of":
            return place, f"{key} must be a mapping of names to values"
        case "literal_error":
            return place, f"{key} must be {details['ctx']['expected']}, not {short_repr(details['input'])}"
        case "too_short":
            return place, f"{key} needs at least one entry"
        case "string_pattern_mismatch":
            return place, f"{key}: {short_repr(details['input'])} does not match {details['ctx']['pattern']}"
        case "float_type":
            return (
                place,
                f"{key} must be a number, not {short_repr(details['input'])}{_number_hint(details['input'])}",
            )
    message = details["msg"].removeprefix("Value error, ")
    return place, f"{key}: {message[0].lower()}{message[1:]}"


def _is_consequence(details: Any, all_details: Iterable[Any]) -> bool:
    """Return whether a list is too short only because its entries are wrong."""
    place = details["loc"]
    return details["type"] == "too_short" and any(
        other_detail["loc"][: len(place)] == place and len(other_detail["loc"]) > len(place)
        for other_detail in all_details
    )


def _number_hint(value: object) -> str:
    """Return a hint for numbers that YAML 1.1 reads as text, such as 4e9 and 4.0e9."""
    is_number = isinstance(value, str) and value[:1].isdigit() and "e" in value.lower()
    return " (in YAML a number is written 4.0e+9 or 1.0e-3)" if is_number else ""


def _keys_at(place: Place) -> list[str]:
    models: dict[str, type[BaseModel]] = {"limits": Limit, "fix": Fix, "tests": RuleTest}
    model = models[str(place[0])] if place else Rule
    return list(model.model_fields)
