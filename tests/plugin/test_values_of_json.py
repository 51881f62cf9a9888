"""Fields of an answer that are absent or of another type count as empty; what is no JSON is shown."""

from __future__ import annotations

import pytest

from sanpath.plugin import CollectorError, Failure, json_answer, json_object, json_texts


def test_other_types_count_as_empty() -> None:
    assert json_object(["name"]) == {}
    assert json_texts(["fc1", 2, None]) == ["fc1"]
    assert (json_texts("fc1"), json_texts("fc1", or_one=True)) == ([], ["fc1"])


def test_an_answer_that_is_not_json_is_shown_with_its_request() -> None:
    assert json_answer(b"[1]", "ports") == [1]
    with pytest.raises(CollectorError, match="ports: not JSON") as raised:
        json_answer(b"<html>", "ports")
    assert raised.value.failure is Failure.UNREADABLE
    assert raised.value.excerpt == "<html>"
