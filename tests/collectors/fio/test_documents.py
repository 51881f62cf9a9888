"""fio's growing output is cut into documents wherever a read ends, whatever lies between them."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from sanpath_collectors.fio.documents import Documents
from tests.collectors.fio import printed

JOB = {"jobname": "a", "groupid": 0, "read": {"total_ios": 5}}


def document(**keys: object) -> bytes:
    return json.dumps({"jobs": [JOB], **keys}, indent=2).encode() + b"\n"


def cut(*parts: bytes) -> tuple[list[dict[str, object]], str]:
    documents = Documents()
    found, text = [], ""
    for part in parts:
        more, words = documents.feed(part)
        found += more
        text += words
    return found, text + documents.remaining()


def test_documents_without_separator_are_told_apart() -> None:
    found, text = cut(document(timestamp_ms=1) + document(timestamp_ms=2))
    assert [d["timestamp_ms"] for d in found] == [1, 2]
    assert text == ""


@pytest.mark.parametrize("noise", [b"fio: pid=7, err=22\n", b"\nfio: terminating on signal 2\n", "é\n".encode()])
def test_lines_between_documents_are_kept_for_people(noise: bytes) -> None:
    found, text = cut(noise + document() + noise + document() + noise)
    assert len(found) == 2
    assert text == 3 * noise.decode()


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_read_may_end_inside_a_character(size: int) -> None:
    output = "fio: Datei wäre größer\n".encode() + document(**{"name": "größe"}) + b"end\n"
    parts = [output[at : at + size] for at in range(0, len(output), size)]
    assert cut(*parts) == cut(output)
    assert cut(output)[1] == "fio: Datei wäre größer\nend\n"


def test_a_brace_at_the_start_of_a_line_of_noise_hides_one_document_at_most() -> None:
    found, _ = cut(b"{ not ours\n" + document(timestamp_ms=1) + document(timestamp_ms=2))
    assert [d["timestamp_ms"] for d in found] == [1, 2]


def test_a_closing_brace_in_noise_does_no_harm() -> None:
    found, text = cut(b"} not ours\n" + document())
    assert len(found) == 1
    assert text == "} not ours\n"


def test_a_cut_document_is_waited_for_and_left_as_text_at_the_end() -> None:
    whole = document()
    assert cut(whole, whole[:40])[0] == [json.loads(whole)]
    assert cut(whole, whole[:40])[1] == whole[:40].decode()


@pytest.mark.parametrize(
    "other",
    [
        b"{\n}\n",
        b'{\n"jobs": 3\n}\n',
        b'{\n"client_stats": []\n}\n',
        b"{\nnot JSON\n}\n",
        b"{\n" + b'{"a":' * 50_000 + b"\n}\n",
    ],
    ids=["empty", "jobs is no list", "fio --client", "no JSON", "nested without end"],
)
def test_what_is_no_status_document_is_text(other: bytes) -> None:
    found, text = cut(other + document())
    assert found == [json.loads(document())]
    assert text == other.decode().removesuffix("\n")


@pytest.mark.parametrize(
    "written",
    [json.dumps, lambda d: json.dumps(d, indent=4), lambda d: json.dumps(d, separators=(",", ":"))],
    ids=["one line", "indented by four", "one line without blanks"],
)
def test_documents_that_another_program_has_written_anew_are_read(written: Callable[[object], str]) -> None:
    one, two = json.loads(document(timestamp_ms=1)), json.loads(document(timestamp_ms=2))
    found, text = cut(f"noise {{}}\n{written(one)}\n{written(two)}\n".encode())
    assert found == [one, two]
    assert text == "noise {}\n"


def test_a_document_of_one_line_is_read_wherever_a_read_ends() -> None:
    output = b"x\n" + json.dumps({"jobs": [JOB]}).encode() + b"\ny\n"
    for size in (1, 5, 11):
        assert cut(*(output[at : at + size] for at in range(0, len(output), size))) == cut(output)


def test_the_last_document_needs_no_line_end() -> None:
    documents = Documents()
    line = json.dumps({"jobs": [JOB]}).encode()
    assert documents.feed(line) == ([], "")
    assert list(documents.last_parts()) == [{"jobs": [JOB]}]


def test_a_document_without_end_is_given_up_before_it_fills_the_memory() -> None:
    documents = Documents()
    found, text = documents.feed(b"{\n" + b" " * (65 << 20))
    assert (found, len(text)) == ([], (65 << 20) + 2)
    assert documents.feed(b"\n" + document(timestamp_ms=1))[0] == [json.loads(document(timestamp_ms=1))]


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize("before", ["    result: ", "  >> ", "\t"])
def test_a_document_ends_where_it_does_whatever_stands_before_it(before: str, size: int) -> None:
    inner = [json.loads(printed.document(at, printed.job("a", 0, 100, 1000))) for at in (10, 40)]
    text = b"".join(before.encode() + json.dumps(each, indent=2).encode() + b"\n" for each in inner)
    documents = Documents()
    found = [doc for at in range(0, len(text), size) for doc in documents.feed(text[at : at + size])[0]]
    assert found == inner
    assert documents.remaining() == ""


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize("indent", [1, 2, 4])
def test_documents_inside_of_another_one_are_those_that_are_in_it(indent: int, size: int) -> None:
    jobs = [(at, printed.job(name, 0, 100, 1000)) for name, at in (("a", 10), ("b", 40))]
    inner = [json.loads(printed.document(at, job)) for at, job in jobs]
    outer = [{"class": "gold", "raw": {"result": each, "error": None}} for each in inner]
    text = json.dumps(outer, indent=indent).encode()
    documents = Documents()
    found = [doc for at in range(0, len(text), size) for doc in documents.feed(text[at : at + size])[0]]
    assert found == inner
    reported = printed.Reported.of_report(text)
    assert reported.warnings == []
    assert [event for event, _, _ in reported.steps] == ["step-begin", "step-end"] * 2
