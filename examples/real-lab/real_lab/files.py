"""Writes the files of a lab for sanpath and fio: secrets, sanpath.yaml, the fio job and the plan of a probe."""

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import yaml

from real_lab.cases import Case, Load
from real_lab.nbd_target import port_name, port_number
from real_lab.network import VETH_BITS_PER_SECOND, array_address, host_address
from real_lab.state import State

EXPERIMENTS = (
    "more_in_flight",
    "fewer_in_flight",
    "one_in_flight",
    "smaller_blocks",
    "more_jobs",
    "one_direction",
    "writes_only",
    "one_target",
)


@dataclass(frozen=True, slots=True)
class Secrets:
    """The secrets of a lab, random for each. `set_up_community` never leaves the switch."""

    read_community: str = field(default_factory=secrets.token_urlsafe, repr=False)
    set_up_community: str = field(default_factory=secrets.token_urlsafe, repr=False)
    api_token: str = field(default_factory=secrets.token_urlsafe, repr=False)


def write_private(file: Path, text: str) -> None:
    """Write a new file that only its owner may read. Raises FileExistsError."""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)


def write_secrets(secret: Secrets, folder: Path) -> None:
    """Write the files of secrets that sanpath.yaml refers to."""
    home = folder / "secrets"
    home.mkdir(mode=0o700)
    write_private(home / "sw1-community", secret.read_community + "\n")
    write_private(home / "fa1-token", secret.api_token + "\n")


def write_configuration(case: Case, state: State, array_endpoint: str, folder: Path) -> Path:
    """Write sanpath.yaml. `array_endpoint`: host:port of the array's REST server."""
    entities: dict[str, dict[str, object]] = {}
    links = ["load:fio runs_on host:host1"]
    for number, fabric in enumerate(case.fabrics):
        hba, target = f"hba:host1/eth{number}", f"array_port:fa1/{port_name(number)}"
        entities[hba] = {"ip": host_address(number), "capable_bits_per_second": VETH_BITS_PER_SECOND}
        links += [
            f"{hba} attached_to host:host1",
            f"switch_port:sw1/{fabric.host_port.name} cabled_to {hba}",
            f"switch_port:sw1/{fabric.array_port.name} cabled_to {target}",
        ]
    switch = {
        "name": "sw1", "collector": "snmp_switch", "host": state.switch_address, "port": 161,
        "community": "file:secrets/sw1-community", "every_seconds": 1,
    }  # fmt: skip
    array = {
        "name": "fa1", "collector": "flasharray", "host": array_endpoint,
        "api_token": "file:secrets/fa1-token", "ca_file": "ca.pem", "every_seconds": 2,
    }  # fmt: skip
    read = [source for source in (switch, array) if source["name"] not in case.unread]
    document = {"sources": read, "topology": {"things": entities, "links": links}}
    file = folder / "sanpath.yaml"
    file.write_text(yaml.safe_dump(document, sort_keys=False))
    return file


def options(load: Load) -> list[str]:
    """Return the fio options that all steps of a load share."""
    return [
        *(["rw=randrw", f"rwmixwrite={load.write_percent}"] if load.write_percent else ["rw=randread"]),
        f"bs={load.block_bytes}",
        "time_based",
        f"ramp_time={load.ramp_seconds}",
        f"runtime={load.step_seconds}",
        "group_reporting",
    ]


def write_job(case: Case, folder: Path) -> Path:
    """Write the fio job: one step per queue depth, with one process per loaded fabric and volume.

    fio counts startdelay from its own start, not from the end of the step before, so gaps add up.
    """
    load, targets = case.load, _targets(case)
    lines = ["[global]", "ioengine=nbd", *options(load)]
    for step, depth in enumerate(load.queue_depths):
        begin = step * (load.ramp_seconds + load.step_seconds + load.gap_seconds)
        for position, (number, volume) in enumerate(targets):
            marks = [f"-eth{number}"] if len({fabric for fabric, _ in targets}) > 1 else []
            marks += [f"-vol{volume + 1}"] if case.array.volumes > 1 else []
            lines += [
                "",
                f"[depth-{depth}{''.join(marks)}]",
                *(["stonewall"] if position == 0 else []),
                f"startdelay={begin}",
                f"iodepth={depth}",
                f"uri={_uri(number, volume)}",
            ]
    file = folder / "job.fio"
    file.write_text("\n".join(lines) + "\n")
    return file


def planned(load: Load, targets: int = 1) -> dict[str, object]:
    """Return the keys of a plan that repeat the heaviest step of a load, which it runs on so many targets.

    A lab's storage has no cache, so no experiment reads a range that a cache would hold.
    """
    return {
        "load": {
            "block_bytes": load.block_bytes,
            "read_ratio": 1 - load.write_percent / 100,
            "in_flight": load.queue_depths[-1] * targets,
        },
        "seconds": load.step_seconds,
        "warmup_seconds": load.ramp_seconds,
        "pause_seconds": load.gap_seconds,
        "experiments": list(EXPERIMENTS),
        "budget": {"seconds": 180, "steps": 5},
    }


def write_plan(case: Case, command: Sequence[str], folder: Path) -> Path:
    """Write the plan of a probe that starts from the heaviest step of the case's load.

    `command`: how fio is started.
    """
    targets = _targets(case)
    document = {
        "command": shlex.join(command),
        "target": {"uri": [_uri(number, volume) for number, volume in targets]},
        **planned(case.load, len(targets)),
        "guard": {"baseline_seconds": 4},
    }
    file = folder / "plan.yaml"
    file.write_text(yaml.safe_dump(document, sort_keys=False))
    return file


def _targets(case: Case) -> list[tuple[int, int]]:
    """Return the exports that the load uses: each volume over each loaded fabric, as (fabric, volume)."""
    fabrics = [number for number, fabric in enumerate(case.fabrics) if fabric.loaded]
    return list(product(fabrics, range(case.array.volumes)))


def _uri(fabric: int, volume: int) -> str:
    return f"nbd://{array_address(fabric)}:{port_number(volume)}"
