"""What is kept from input to input hides nothing: each kind of target finds a defect that is planted for the test."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest

from sanpath.plugin import SnmpValue
from sanpath.recording.redaction import redact
from sanpath.transport.snmp import session as snmp_session
from sanpath_collectors.flasharray import parse as flasharray
from sanpath_collectors.kubernetes import parse as kubernetes
from sanpath_collectors.linux_host import parse as linux_host
from sanpath_collectors.snmp_switch import parse as snmp_switch
from sanpath_collectors.vsphere.connection import session, vmomi
from tests.fuzz.target import Target, fuzz
from tests.fuzz.targets import TARGETS

_decoded = snmp_session._decoded
_node = kubernetes.node


def _text_of_octets(value: Any) -> SnmpValue:
    found = _decoded(value)
    if isinstance(found, bytes):
        found.decode()
    return found


def _name_of(value: Any) -> str:
    return str(value["name"])


def _node_with_status(name: str, item: Any) -> Any:
    return item and item["status"]["capacity"] and _node(name, item)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "module", "name", "planted", "inputs"),
    [
        ("flasharray answers", flasharray, "name", _name_of, 500),
        ("kubernetes answers", kubernetes, "node", _node_with_status, 1000),
        ("linux_host answers", linux_host, "number", int, 100),
        ("snmp_switch answers", snmp_switch, "octets", lambda value: value.hex() and value, 2000),
        ("vsphere answers", vmomi, "_require", lambda *_: None, 1000),
        ("vsphere answers", session, "plain", lambda value: value.name, 300),
        ("SNMP datagrams", snmp_session, "_decoded", _text_of_octets, 2000),
        ("recording", redact, "_matching_text", lambda pattern, text: pattern.fullmatch(text)[0], 100),
    ],
)
def test_a_planted_defect_is_found(
    target: str, module: Any, name: str, planted: Callable[..., object], inputs: int
) -> None:
    known = next(known for known in TARGETS if known.name == target)
    with patch.object(module, name, planted):
        assert fuzz(known, 0, inputs).found


@pytest.mark.slow
def test_an_input_that_fills_the_memory_is_found() -> None:
    def parser(given: bytes) -> int:
        return len(b"x" * (200 << 20)) if len(given) > 100 else 0

    found = fuzz(Target("memory", lambda: [b"a"], parser, reducible=False), 0, 100).found
    assert any(kind.startswith("memory") for kind in found)


@pytest.mark.slow
def test_a_slow_input_is_found() -> None:
    def parser(_: bytes) -> None:
        until = time.thread_time() + 0.8
        while time.thread_time() < until:
            pass

    found = fuzz(Target("slow", lambda: [b"a"], parser, reducible=False), 0, 1).found
    assert any(kind.startswith("slow") for kind in found)


@pytest.mark.slow
def test_what_the_process_had_before_hides_no_input_that_fills_the_memory() -> None:
    assert len(b"x" * (600 << 20)) == 600 << 20
    test_an_input_that_fills_the_memory_is_found()
