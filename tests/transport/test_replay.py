"""Recorded answers stand in for a device."""

from __future__ import annotations

import asyncio
import bz2
from pathlib import Path

import pytest

from sanpath.plugin import Cost, Http
from tests.support.replay import ReplayHttp, parse_snmprec, read_snmprec


def test_snmprec_values_have_their_types() -> None:
    lines = {
        "2|-1": -1,
        "65|4294967295": 4294967295,
        "67|100": 100,
        "70|18446744073709551615": 18446744073709551615,
        "4|fc1/31": b"fc1/31",
        "4|a|b": b"a|b",
        "4x|002a6afc": b"\x00\x2a\x6a\xfc",
        "6|1.3.6.1": "1.3.6.1",
        "64|192.0.2.1": b"\xc0\x00\x02\x01",
        "5|": None,
    }
    recorded = parse_snmprec("# comment\n" + "\n".join(f"1.3.{n}|{line}" for n, line in enumerate(lines)))
    assert [value for _, value in recorded] == list(lines.values())


def test_a_line_that_is_none_is_shown() -> None:
    with pytest.raises(ValueError, match="no line"):
        parse_snmprec("1.3.6|2|1\nno line of it")


def test_a_compressed_recording_reads_like_a_plain_one(tmp_path: Path) -> None:
    text = b"1.3.6.1|4|caf\xc3\xa9\n"
    (tmp_path / "a.snmprec").write_bytes(text)
    (tmp_path / "a.snmprec.bz2").write_bytes(bz2.compress(text))
    assert read_snmprec(tmp_path / "a.snmprec.bz2") == read_snmprec(tmp_path / "a.snmprec")
    assert read_snmprec(tmp_path / "a.snmprec") == [((1, 3, 6, 1), "café".encode())]


@pytest.fixture
def server(tmp_path: Path) -> Http:
    (tmp_path / "body.json").write_bytes(b'{"raw": 1}')
    (tmp_path / "http.yaml").write_text(
        "- {request: GET /a, json: {n: 1}}\n"
        "- {request: GET /a, json: {n: 2}}\n"
        "- {request: GET /a, query: {page: 2}, text: page two}\n"
        "- {request: GET /f, file: body.json, status: 206, headers: {Retry-After: 3}}\n"
        "- {request: GET /s, needs: {x-auth-token: t}, text: inside}\n",
        encoding="utf-8",
    )
    return ReplayHttp(tmp_path, Cost())


def test_answers_are_used_in_order_and_the_last_repeats(server: Http) -> None:
    async def run() -> list[bytes]:
        return [(await server.request("GET", "/a")).body for _ in range(3)]

    assert asyncio.run(run()) == [b'{"n": 1}', b'{"n": 2}', b'{"n": 2}']


def test_the_answer_with_the_most_fitting_parameters_is_used_and_used_again(server: Http) -> None:
    for _ in range(2):
        assert asyncio.run(server.request("GET", "/a", {"page": "2", "limit": "9"})).body == b"page two"


def test_files_status_and_headers(server: Http) -> None:
    reply = asyncio.run(server.request("GET", "/f"))
    assert (reply.status, reply.headers["retry-after"], reply.body) == (206, "3", b'{"raw": 1}')


def test_a_needed_header_and_an_unknown_path(server: Http) -> None:
    assert asyncio.run(server.request("GET", "/s")).status == 401
    assert asyncio.run(server.request("GET", "/s", headers={"x-auth-token": "t"})).body == b"inside"
    assert asyncio.run(server.request("POST", "/s")).status == 404
