"""JSON and YAML of others: what is nested deep, repeated without end or made of small parts is refused in a line."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanpath.plugin import read_json, read_yaml


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "1" * 5_000, "{", ""])
def test_what_cannot_be_read_as_json_is_one_kind_of_error(text: str) -> None:
    for answer in (text, text.encode()):
        with pytest.raises(ValueError):  # noqa: PT011 - what it says is Python's
            read_json(answer)


def test_many_small_objects_are_refused_and_many_large_ones_are_not() -> None:
    with pytest.raises(ValueError, match="more objects and lists than its size accounts for"):
        read_json("[" + '{"":0},' * 800_000 + "0]")
    assert len(read_json("[" + '{"name": "a volume with a name", "reads_per_sec": 12},' * 50_000 + "0]")) == 50_001


@pytest.mark.slow
@given(st.decimals(allow_nan=False, allow_infinity=False) | st.floats() | st.integers() | st.text())
def test_numbers_and_texts_are_those_that_python_reads(value: object) -> None:
    """Counters and latencies keep their last digit, and names keep every character."""
    text = json.dumps(value) if isinstance(value, str | float) else str(value)
    expected = json.loads(text)
    read = read_json(text)
    assert type(read) is type(expected)
    assert read == expected or (math.isnan(read) and math.isnan(expected))


@pytest.mark.parametrize("text", [r'{"name": "\ud83d"}', "[" * 500 + "]" * 500, '{"n": 1, "n": 2}', '{"n": NaN}'])
def test_what_python_reads_is_read(text: str) -> None:
    assert repr(read_json(text)) == repr(json.loads(text))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 100_000, "nested too deep"),
        ("- " * 100_000, "nested too deep"),
        ("a: 1\n" * 60_000, "more than 100,000 values"),
        ("a: [", "expected the node content"),
        ("a: &x {b: *x", "expected ',' or '}'"),
        ("!!python/object/apply:os.getcwd []", "could not determine a constructor"),
    ],
)
def test_what_nobody_writes_as_yaml_is_refused_in_a_line(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as error:
        read_yaml(text)
    assert "\n" not in str(error.value)
