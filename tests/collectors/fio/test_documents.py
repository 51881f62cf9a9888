"""fio's growing output is cut into documents wherever a read ends, whatever lies between them."""

from __future__ import annotations

import json

import pytest

from sanpath_collectors.fio.options import size_bytes, target_addresses
from sanpath_collectors.fio.parse import Documents

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
    return found, text + documents.rest()


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
    ("text", "size"),
    [
        (None, 4096.0),
        ("64k", 65536.0),
        ("1M", 1048576.0),
        ("4KiB", 4096.0),
        ("512", 512.0),
        ("4k,8k", None),
        ("4k-64k", None),
        ("9" * 5000, None),
        ("", 4096.0),
    ],
)
def test_block_size(text: str | None, size: float | None) -> None:
    assert size_bytes(text) == size


@pytest.mark.parametrize(
    ("options", "addresses"),
    [
        ({"uri": "nbd://10.0.0.2:10809"}, ["10.0.0.2"]),
        ({"uri": "nbd://[fe80::1]:10809/x"}, ["fe80::1"]),
        ({"uri": "nbd+unix:///x?socket=/run/x"}, []),
        ({"hostname": "nas1"}, ["nas1"]),
        ({}, []),
    ],
)
def test_where_a_network_engine_sends_its_load(options: dict[str, str], addresses: list[str]) -> None:
    assert target_addresses(options) == addresses
