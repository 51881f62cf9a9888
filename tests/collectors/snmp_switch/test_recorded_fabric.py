"""A recorded fabric of three switches, served by SNMP agents and read by the program as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from sanpath.cli.sessions.child_process import environment
from tests.transport.recorded_agent import COMMUNITY, read_recording, serving

ROOT = Path(__file__).parents[3]
RECORDED = ROOT / os.environ.get("SANPATH_RECORDINGS", "../shared/recordings") / "snmp"
FILES = {
    "ucs-a": "cisco-ucs-6100.fc-subset.snmprec.bz2",
    "ds5100b": "brocade-ds-5100b.snmprec.bz2",
    "sns2124": "brocade-unknown-001.snmprec.bz2",
}
HOST, TARGET = "20000025b510001b", "20007c1cf1f71760"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not RECORDED.is_dir(), reason="no recorded walks: set SANPATH_RECORDINGS"),
]


@pytest.fixture(scope="module")
def topology(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `sanpath topology` says after a run of half a minute with nothing but addresses and communities."""
    folder = tmp_path_factory.mktemp("fabric")
    with ExitStack() as agents:
        sources = []
        for name, file in FILES.items():
            agent = agents.enter_context(serving(read_recording(RECORDED / file)))
            sources.append({"name": name, "collector": "snmp_switch", "host": "127.0.0.1", "port": agent.port})
            sources[-1] |= {"community": "env:SNMP", "every_seconds": 15, "timeout_seconds": 60}
        (folder / "sanpath.yaml").write_text(yaml.safe_dump({"sources": sources}))
        _sanpath(folder, "run", "--for", "40", "--into", "fabric.sanpath", "--plain")
    reported: dict[str, Any] = json.loads(_sanpath(folder, "topology", "fabric.sanpath", "--format", "json"))
    return reported


def _sanpath(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "sanpath", *words]
    env = {**environment(), "SNMP": COMMUNITY}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_path_from_host_to_array_is_whole(topology: dict[str, Any]) -> None:
    links = {frozenset((k["from"], k["to"])) for k in topology["links"]}
    path = [
        f"hba:{HOST}",
        *("switch_port:ucs-a/vfc1485", "switch:ucs-a", "switch_port:ucs-a/fc1/31"),
        *("switch_port:ds5100b/0/17", "switch:ds5100b", "switch_port:ds5100b/0/21"),
        *("switch_port:sns2124/0/22", "switch:sns2124", "switch_port:sns2124/0/8"),
        f"array_port:{TARGET}",
    ]
    for near, far in pairwise(path):
        assert frozenset((near, far)) in links, f"{near} and {far}"
    assert frozenset(("switch_port:ds5100b/0/22", "switch_port:sns2124/0/23")) in links


def test_all_fourteen_logins_are_joined(topology: dict[str, Any]) -> None:
    logins = [
        k for k in topology["links"] if k["relation"] == "logged_in" and k["to"].startswith("switch_port:ucs-a/")
    ]
    assert len(logins) == 14
