"""The condition language of rules: a small Python-like expression, compiled to functions with three outcomes.

It supports only what this module lists: nothing in a rule file is executed. The outcomes are those of SQL's
three-valued logic: true is a hit, false is clear, and an unknown value (a missing fact, a division by zero) is
unknown. A condition is evaluated for all rows of a fact table at once.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sanpath.errors import UsageError
from sanpath.masking import printable
from sanpath.rulebook.fact_kinds import FactKind, did_you_mean

MAX_CHARACTERS = 1000
"""Longer conditions are refused: each term is an operation over all rows of a table, and rules need few terms."""

MAX_DEPTH = 40
"""Deeper nesting is refused, well below the recursion limit of Python (1,000 by default)."""

Array = npt.NDArray[Any]
_Function = Callable[[Any, Any], Array]
_ORDER: Mapping[type[ast.cmpop], _Function] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_COMPARISON: Mapping[type[ast.cmpop], _Function] = {**_ORDER, ast.Eq: operator.eq, ast.NotEq: operator.ne}
_ARITHMETIC: Mapping[type[ast.operator], _Function] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}

_REFUSED: Mapping[type[ast.AST], str] = {
    ast.Attribute: "attribute access",
    ast.Call: "a call",
    ast.Dict: "a dictionary",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.IfExp: "if/else",
    ast.In: "in",
    ast.Invert: "~",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.JoinedStr: "an f-string",
    ast.Lambda: "lambda",
    ast.List: "a list",
    ast.ListComp: "a comprehension",
    ast.NamedExpr: ":=",
    ast.NotIn: "not in",
    ast.Pow: "**",
    ast.Set: "a set",
    ast.SetComp: "a comprehension",
    ast.Subscript: "a subscript",
    ast.Tuple: "a tuple",
}


class ConditionError(UsageError):
    """An invalid condition. The message has the problem, the condition and a line of carets below the place."""

    def __init__(self, problem: str, text: str = "", start: int = 0, end: int = 0) -> None:
        caret = " " * start + "^" * max(1, end - start)
        super().__init__(f"{problem}\n  {text}\n  {caret}" if text else problem)


class Values(NamedTuple):
    """A fact or an expression. `values`: one for each row, or one for all; they have no meaning unless `known`."""

    values: Array
    known: Array


Columns = Mapping[str, Values]
"""Fact → its values in the rows of a fact table."""
Expression = Callable[[Columns], Values]


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition over the columns of a fact table, with its limits filled in.

    `evaluate`: the condition for each row, true or false. `facts` and `limits`: the names it uses, in the order of
    the text. `worst`: the fact of the first comparison by size, and whether a larger (1) or smaller (-1) value is
    worse; None: it compares nothing by size. `limit_of`: limit → the fact it is compared with, whose unit it has.
    """

    evaluate: Expression
    facts: tuple[str, ...]
    limits: tuple[str, ...]
    worst: tuple[str, int] | None
    limit_of: Mapping[str, str]


def compile_condition(text: str, facts: Mapping[str, FactKind], limits: Mapping[str, float]) -> Condition:
    """Compile a condition over these facts and limits. Raises ConditionError."""
    if len(text) > MAX_CHARACTERS:
        raise ConditionError(f"the condition has more than {MAX_CHARACTERS:,} characters")
    line = text.replace("\n", " ").replace("\t", " ").strip()
    compiler = _Compiler(line, facts, limits)
    evaluate = compiler.truth(_parse(line), depth=0)
    if not compiler.facts:
        raise ConditionError("the condition reads no fact", line, 0, len(line))
    return Condition(evaluate, tuple(compiler.facts), tuple(compiler.limits), compiler.worst, compiler.limit_of)


def _parse(line: str) -> ast.expr:
    for position, character in enumerate(line):
        # A backslash could hide a character, a number sign the rest of the condition.
        if not character.isprintable() or character in "\\#":
            raise ConditionError(f"{character!r} is not part of the language", printable(line), position)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(line, mode="eval").body
    except SyntaxError as error:
        start = min(max((error.offset or 1) - 1, 0), len(line))
        raise ConditionError("this cannot be read as a condition", line, start) from None
    except (MemoryError, RecursionError, ValueError):
        raise ConditionError("this cannot be read as a condition", line) from None


class _Compiler:
    """Compiles one parsed condition, and collects the names that it uses."""

    def __init__(self, line: str, facts: Mapping[str, FactKind], limits: Mapping[str, float]) -> None:
        self._line, self._kinds, self._values = line, facts, limits
        # Dictionaries serve as ordered sets.
        self.facts: dict[str, None] = {}
        self.limits: dict[str, None] = {}
        self.worst: tuple[str, int] | None = None
        self.limit_of: dict[str, str] = {}

    def truth(self, node: ast.expr, depth: int, negated: bool = False) -> Expression:
        """Return the function of an expression that is true, false or unknown."""
        self._check_depth(node, depth)
        match node:
            case ast.BoolOp(op=op, values=nodes):
                operands = [self.truth(value, depth + 1, negated) for value in nodes]
                return _all(operands) if isinstance(op, ast.And) else _not(_all([_not(o) for o in operands]))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return _not(self.truth(operand, depth + 1, not negated))
            case ast.Compare():
                return self._comparison(node, depth, negated)
        value, kind = self._value(node, depth)
        if kind != "truth":
            raise self._error(node, f"a {kind} alone is neither true nor false: compare it with something")
        return value

    def _comparison(self, node: ast.Compare, depth: int, negated: bool) -> Expression:
        for op in node.ops:
            if type(op) not in _COMPARISON:
                raise self._refused(node, op)
        operands = [node.left, *node.comparators]
        values = [self._operand(operand, depth + 1) for operand in operands]
        comparisons = []
        for index, op in enumerate(node.ops):
            (left, left_kind), (right, right_kind) = values[index], values[index + 1]
            if left_kind != right_kind:
                raise self._error(node, f"a {left_kind} cannot be compared with a {right_kind}")
            if left_kind != "number" and type(op) in _ORDER:
                raise self._error(node, f"a {left_kind} can only be compared with == and !=")
            self._note_limit(operands[index], operands[index + 1])
            comparisons.append(_applied(_COMPARISON[type(op)], left, right))
            if type(op) in _ORDER and not negated and self.worst is None:
                self.worst = self._worse(operands[index], op, operands[index + 1])
        return _all(comparisons)

    def _note_limit(self, left: ast.expr, right: ast.expr) -> None:
        if isinstance(left, ast.Name) and isinstance(right, ast.Name):
            for limit, fact in ((left.id, right.id), (right.id, left.id)):
                if limit in self._values and fact in self._kinds:
                    self.limit_of.setdefault(limit, fact)

    def _worse(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> tuple[str, int] | None:
        sign = 1 if isinstance(op, ast.Gt | ast.GtE) else -1
        for operand, operand_sign in ((left, sign), (right, -sign)):
            if isinstance(operand, ast.Name) and operand.id in self._kinds:
                return operand.id, operand_sign
        return None

    def _operand(self, node: ast.expr, depth: int) -> tuple[Expression, FactKind]:
        value, kind = self._value(node, depth)
        # An overflow is unknown, not larger than every limit.
        return (value if isinstance(node, ast.Name | ast.Constant) else _finite(value)), kind

    def _value(self, node: ast.expr, depth: int) -> tuple[Expression, FactKind]:
        """Return the function and the kind of a name, a literal or arithmetic on numbers."""
        self._check_depth(node, depth)
        match node:
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.Constant(value=value):
                return self._literal(node, value)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as op, operand=operand):
                sign = _constant(-1.0 if isinstance(op, ast.USub) else 1.0)
                return _applied(operator.mul, sign, self._number(operand, depth + 1)), "number"
            case ast.BinOp(op=op, left=left, right=right) if type(op) in _ARITHMETIC:
                first, second = self._number(left, depth + 1), self._number(right, depth + 1)
                second = _not_zero(second) if isinstance(op, ast.Div) else second
                return _applied(_ARITHMETIC[type(op)], first, second), "number"
            case ast.BinOp(op=op) | ast.UnaryOp(op=op):
                raise self._refused(node, op)
            case ast.BoolOp() | ast.Compare():
                raise self._error(node, "a comparison cannot be compared or counted: use and, or, not")
        raise self._refused(node, node)

    def _number(self, node: ast.expr, depth: int) -> Expression:
        value, kind = self._value(node, depth)
        if kind != "number":
            raise self._error(node, f"a {kind} cannot be added, subtracted, multiplied or divided")
        return value

    def _name(self, node: ast.expr, name: str) -> tuple[Expression, FactKind]:
        if name in self._values:
            self.limits[name] = None
            return _constant(float(self._values[name])), "number"
        if name not in self._kinds:
            hint = did_you_mean(name, [*self._kinds, *self._values])
            raise self._error(node, f"no fact is called {name!r}{hint}")
        self.facts[name] = None
        return operator.itemgetter(name), self._kinds[name]

    def _literal(self, node: ast.expr, value: object) -> tuple[Expression, FactKind]:
        if isinstance(value, bool):
            return _constant(value), "truth"
        if isinstance(value, str):
            return _constant(value), "name"
        if isinstance(value, int | float):
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if not math.isfinite(number):
                raise self._error(node, "this number is too large")
            return _constant(number), "number"
        raise self._error(node, f"{value!r} is not part of the language")

    def _check_depth(self, node: ast.expr, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise self._error(node, f"nested more than {MAX_DEPTH} deep")

    def _refused(self, node: ast.expr, construct: ast.AST) -> ConditionError:
        word = _REFUSED.get(type(construct), type(construct).__name__.lower())
        return self._error(node, f"{word} is not part of the language")

    def _error(self, node: ast.expr, problem: str) -> ConditionError:
        return ConditionError(problem, self._line, *self._span(node))

    def _span(self, node: ast.expr) -> tuple[int, int]:
        # ast counts bytes of UTF-8, the caret line counts characters.
        data = self._line.encode()
        start, end = node.col_offset, node.end_col_offset or node.col_offset
        return len(data[:start].decode()), len(data[:end].decode())


def _constant(value: bool | str | float) -> Expression:
    constant = Values(np.asarray(value, dtype=object if isinstance(value, str) else None), np.asarray(True))
    return lambda _: constant


def _applied(function: _Function, first: Expression, second: Expression) -> Expression:
    """Return a function of two values; the result is known if both are."""

    def evaluate(columns: Columns) -> Values:
        left, right = first(columns), second(columns)
        return Values(function(left.values, right.values), left.known & right.known)

    return evaluate


def _not_zero(divisor: Expression) -> Expression:
    def evaluate(columns: Columns) -> Values:
        values, known = divisor(columns)
        return Values(np.where(values == 0, 1.0, values), known & (values != 0))

    return evaluate


def _finite(number: Expression) -> Expression:
    def evaluate(columns: Columns) -> Values:
        values, known = number(columns)
        return Values(values, known & np.isfinite(values))

    return evaluate


def _not(operand: Expression) -> Expression:
    def evaluate(columns: Columns) -> Values:
        values, known = operand(columns)
        return Values(~values, known)

    return evaluate


def _all(operands: Sequence[Expression]) -> Expression:
    """Return whether all are true: false if any is known to be false."""

    def evaluate(columns: Columns) -> Values:
        terms = [operand(columns) for operand in operands]
        is_false = functools.reduce(operator.or_, (known & ~values for values, known in terms))
        all_known = functools.reduce(operator.and_, (known for _, known in terms))
        return Values(~is_false, all_known | is_false)

    return evaluate
