"""Text inside JSON, and in the logs of containers, is read as if it stood in a file."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from sanpath.recorder.importing.files.line_cleaner import LineCleaner

TEXT = 'Linux 5.14.0 (db1) \t01/31/26\n\nDisk tps "quoted" \\ é\n' + "sdb 1.00\n" * 8


def in_docker(text: str) -> str:
    lines = ({"log": line + "\n", "stream": "stdout", "time": "2026-01-31T14:00:00.1Z"} for line in text.splitlines())
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def in_kubernetes(text: str) -> str:
    return "".join(f"2026-01-31T14:00:00.123456789Z stdout F {line}\n" for line in text.splitlines())


def of_ansible(text: str) -> str:
    result = {"changed": True, "cmd": "fio a.job", "rc": 0, "stdout": text, "stdout_lines": text.splitlines()}
    return json.dumps(result, indent=4)


def of_a_task(text: str) -> str:
    return 'ok: [db1] => {\n    "out.stdout_lines": ' + json.dumps(text.splitlines(), indent=8) + "\n}\n"


@pytest.mark.parametrize("wrapped", [in_docker, in_kubernetes, of_ansible, of_a_task])
def test_the_text_is_there_once(wrapped: Callable[[str], str]) -> None:
    content = wrapped(TEXT).encode()
    cleaned = LineCleaner(content).clean(content).decode()
    assert TEXT.replace("\n\n", "\n") in cleaned.replace("\n\n", "\n")
    assert cleaned.count("Linux 5.14.0") == 1


def test_a_description_of_few_lines_in_a_report_stays() -> None:
    content = json.dumps({"jobname": "a", "desc": "one\ntwo\nthree", "read": {"iops": 1}}, indent=2).encode()
    assert LineCleaner(content).changes_nothing
