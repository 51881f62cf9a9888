"""A random SAN in which nothing limits: hosts, two fabrics, links between switches and an array."""

from __future__ import annotations

from itertools import pairwise, product
from random import Random
from typing import Any

from pydantic import BaseModel

from sanpath_lab.scenario import Array, Direction, Host, Load, PathState, Scenario, VirtualController

HOST_PORTS, ISL_PORTS, ARRAY_PORTS, OTHER_ARRAY_PORTS = range(1, 9), (9, 10), (11, 12), (13, 14)
"""Port numbers of a switch by use, counted from 1."""
_AGENTS = {
    "nx_os": ("Cisco NX-OS(tm) m9100, Version 8.4(2c), RELEASE SOFTWARE (simulated)", "1.3.6.1.4.1.9.12.3.1.3.1491"),
    "fabric_os": ("6505 (simulated)", "1.3.6.1.4.1.1588.2.1.1.1"),
}
_KIB = 1024
FULL_SPEED = 16


class San:
    """A random SAN. Attributes may be changed until `scenario` is called. Lists have an item for each of two fabrics.

    `salt`: changes the random numbers of a seed. `fabrics`: one or two. `hops`: number of links between switches on a
    path. `paths_each`: paths over each fabric. `path_states`: (fabric, number of the path) → state, if not active.
    `write_ratio`: share of writes in a mixed load; None: `direction` only. `rate`: requested I/Os a second; None: no
    limit. `jobs`: number of jobs in parallel, on the first of `volumes` or distributed over both.
    `other_array`: fields in which a second array, "fa2", differs from the first; None: only one array.
    `other_gigabit`: speed of its ports. `vcenter`: the hosts are ESXi hosts of a vCenter. `queue_depth`: None: the
    default of the disk's `controller`.
    """

    def __init__(self, family: str, seed: int, salt: str = "") -> None:
        self.family, self.seed = family, seed
        self.random = random = Random(f"{family}/{seed}{salt}")  # noqa: S311  a drawing, not secrets
        self.agent = random.choice(sorted(_AGENTS))
        self.fabrics = 2
        self.hops = random.choice((0, 0, 1, 2))
        self.direction: Direction = random.choice(("read", "write"))
        self.block_bytes = random.choice((32, 64, 128)) * _KIB
        self.threads: tuple[int, ...] = (1, 8, 16)
        self.outstanding = random.choice((1, 2, 4))
        self.write_ratio: float | None = None
        self.jobs = self.volumes = 1
        self.rate: float | None = None
        self.one_core_per_thread = False
        self.cpu_seconds_per_io = 3.0e-5
        self.zeros = False
        self.host = f"esx{random.randint(1, 40)}"
        self.host_gigabit = [FULL_SPEED, FULL_SPEED]
        self.host_ports = random.sample(HOST_PORTS, 2)
        self.array_gigabit = [FULL_SPEED, FULL_SPEED]
        self.isl_gigabit = [32, 32]
        self.damaged_frame_ratio = {"host": 0.0, "array": 0.0}
        self.path_policy = "round_robin"
        self.ios_per_path = 1
        self.paths_each = 1
        self.path_states: dict[tuple[int, int], PathState] = {}
        self.access = "active/active"
        self.vcenter = False
        self.controller: VirtualController = "lsi_logic"
        self.queue_depth: int | None = 254
        self.lun_queue_depth = 256
        self.timeout_seconds = 30.0
        self.entry_seconds = 0.0
        self.command_seconds = 8.0e-6
        self.service_seconds = random.uniform(3.0e-4, 9.0e-4)
        self.tail_seconds = self.service_seconds * random.uniform(0.1, 0.4)
        self.parallel_servers = 256
        self.parallel_media: int | None = None
        self.working_set_bytes: int | None = None
        self.direct = True
        self.memory_bytes: int | None = None
        self.cache_bytes: int | None = None
        self.write_cache: dict[str, Any] | None = None
        self.other_array: dict[str, Any] | None = None
        self.other_gigabit = [FULL_SPEED, FULL_SPEED]
        self.bandwidth_limit: int | None = None
        self.iops_limit: int | None = None
        self.burst_frames = 64
        self.credits = 160
        self.ramp_seconds, self.measured_seconds = 2.0, 14.0
        self.neighbours: list[dict[str, Any]] = []
        self.background(random.randint(0, 7))

    def background(self, count: int) -> None:
        """Replace the other hosts by `count` hosts with a little I/O each."""
        self.neighbours = []
        for _ in range(count):
            self.neighbour(
                fabric=self.random.randrange(self.fabrics),
                block_bytes=self.random.choice((8, 16, 64)) * _KIB,
                outstanding=1,
                think_seconds=self.random.uniform(0.01, 0.05),
            )

    def neighbour(
        self,
        fabric: int,
        *,
        block_bytes: int,
        outstanding: int,
        think_seconds: float = 0.0,
        direction: Direction | None = None,
        gigabit: int = FULL_SPEED,
        drain_ratio: float = 1.0,
        target: int | None = None,
        array: str = "fa1",
        volume: int | None = None,
        decoy: bool = False,
    ) -> str:
        """Another host on the first switch of a fabric; `target`: the fabric's port of the array it talks to,
        None: any of the two, of which the first is that of the test; `volume`: the number of one that it shares,
        None: it has its own. Returns its switch port."""
        taken = {n["hba"]["switch_port"] for n in self.neighbours} | {self.host_port(f) for f in range(2)}
        free = [port for n in HOST_PORTS if (port := self._port(self.edge(fabric), n)) not in taken]
        port, number = self.random.choice(free), len(self.neighbours) + 41
        second = self.random.randrange(2) if target is None else target
        self.neighbours.append(
            {
                "name": f"esx{number}",
                "hba": {
                    "name": "vmhba2",
                    "wwpn": f"21:00:00:24:ff:00:01:{number:02x}",
                    "capable_gigabit": gigabit,
                    "switch_port": port,
                    "drain_ratio": drain_ratio,
                    "credits": self.credits,
                },
                "array": array,
                "target": self._target(fabric, second),
                "direction": direction or self.random.choice(("read", "write")),
                "block_bytes": block_bytes,
                "outstanding": outstanding,
                "think_seconds": think_seconds,
                "volume": volume or number,
                "decoy": decoy,
            }
        )
        return port

    def edge(self, fabric: int) -> str:
        """The switch that the hosts of a fabric are on."""
        return f"sw{fabric + 1}"

    def core(self, fabric: int) -> str:
        """The switch that the array is on in a fabric."""
        return f"sw{fabric + 1 + 2 * self.hops}"

    def host_port(self, fabric: int) -> str:
        """The switch port of the test's host in a fabric."""
        return self._port(self.edge(fabric), self.host_ports[fabric])

    def array_port(self, fabric: int, second: int = 0) -> str:
        """The switch port of an array port in a fabric; the test uses the first."""
        return self._port(self.core(fabric), ARRAY_PORTS[second])

    def hba(self, fabric: int) -> str:
        """The port of the test's host in a fabric, as an element."""
        return f"hba:{self.host}/vmhba{fabric + 2}"

    def target_port(self, fabric: int) -> str:
        """The array port that the test uses in a fabric, as an element."""
        return f"array_port:fa1/{self._target(fabric, 0)}"

    def other_array_port(self, fabric: int, second: int = 0) -> str:
        """The switch port of a port of the second array in a fabric."""
        return self._port(self.core(fabric), OTHER_ARRAY_PORTS[second])

    def isl_ports(self, fabric: int) -> list[str]:
        """The ports at both ends of every link between switches of a fabric."""
        return [port for link in self._links(fabric) for port in link["ends"]]

    def truth(self, kind: str, layer: str, *ports: str, **fields: Any) -> dict[str, Any]:
        """Return the label of this SAN. `ports`: switch ports, or other elements with their kind."""
        named = [port if ":" in port else f"switch_port:{port}" for port in ports]
        return {"kind": kind, "layer": layer, "direction": self.direction, "bottlenecks": named, **fields}

    def scenario(self, truth: dict[str, Any]) -> Scenario:
        """The scenario with its label."""
        return Scenario.model_validate(
            {
                "name": f"{self.family}-{self.seed}",
                "title": f"{self.family}, drawn with seed {self.seed}",
                "seed": self.seed,
                "load": self._load(),
                "guest_disk": self._disk(),
                "other_disks": [
                    {"disk": {**self._disk(), "name": f"sd{'abcd'[number - 1]}"}, "volume": self._volume(number)}
                    for number in range(2, self.volumes + 1)
                ],
                "guest_memory": None if self.memory_bytes is None else {"capacity_bytes": self.memory_bytes},
                "host": {
                    **self._fields_of(Host),
                    "name": self.host,
                    "hbas": [self._hba(fabric) for fabric in range(self.fabrics)],
                },
                "neighbours": [{**n, "volume": self._volume(n["volume"])} for n in self.neighbours],
                "switches": [self._switch(f, place) for f in range(self.fabrics) for place in range(self.hops + 1)],
                "inter_switch_links": [link for fabric in range(self.fabrics) for link in self._links(fabric)],
                "array": self._array(),
                "other_arrays": [] if self.other_array is None else [{**self._other_array(), **self.other_array}],
                "volume": self._volume(1),
                "paths": [
                    self._path(fabric, which) for which in range(self.paths_each) for fabric in range(self.fabrics)
                ],
                "vcenter": {} if self.vcenter else None,
                "ios_per_path": self.ios_per_path,
                "burst_frames": self.burst_frames,
                "truth": truth,
            }
        )

    def _fields_of(self, model: type[BaseModel]) -> dict[str, Any]:
        """The attributes that are fields of a part of the scenario."""
        return {name: value for name, value in vars(self).items() if name in model.model_fields}

    def _load(self) -> dict[str, Any]:
        return {
            **self._fields_of(Load),
            "virtual_machine": "sqlvm1",
            "direction": self.direction if self.write_ratio is None else "mixed",
            "outstanding_per_thread": self.outstanding,
            "gap_seconds": 1,
            "user_seconds_per_io": self.cpu_seconds_per_io / 3,
            "system_seconds_per_io": self.cpu_seconds_per_io * 2 / 3,
            "ios_per_second": self.rate,
        }

    def _disk(self) -> dict[str, Any]:
        depth = {} if self.queue_depth is None else {"queue_depth": self.queue_depth}
        return {"name": "sda", "controller": self.controller, **depth}

    def _path(self, fabric: int, which: int) -> dict[str, Any]:
        state = self.path_states.get((fabric, which), "active")
        return {"hba": f"vmhba{fabric + 2}", "target": self._target(fabric, which), "state": state}

    def _hba(self, fabric: int) -> dict[str, Any]:
        return {
            "name": f"vmhba{fabric + 2}",
            "wwpn": f"21:00:00:24:ff:00:00:{fabric + 2:02x}",
            "capable_gigabit": self.host_gigabit[fabric],
            "switch_port": self.host_port(fabric),
            "credits": self.credits,
            "damaged_frame_ratio": self.damaged_frame_ratio["host"] if fabric == 0 else 0.0,
        }

    def _switch(self, fabric: int, place: int) -> dict[str, Any]:
        number = fabric + 1 + 2 * place
        description, object_id = _AGENTS[self.agent]
        return {
            "name": f"sw{number}",
            "agent": self.agent,
            "wwn": f"10:00:00:05:33:00:00:{number:02x}",
            "domain_id": number,
            "gigabit": FULL_SPEED,
            "credits": self.credits,
            "port_count": (ARRAY_PORTS if self.other_array is None else OTHER_ARRAY_PORTS)[-1],
            "description": description,
            "object_id": object_id,
        }

    def _links(self, fabric: int) -> list[dict[str, Any]]:
        names = [f"sw{fabric + 1 + 2 * place}" for place in range(self.hops + 1)]
        return [
            {
                "ends": [self._port(near_switch, ISL_PORTS[0]), self._port(far_switch, ISL_PORTS[1])],
                "gigabit": self.isl_gigabit[fabric],
                "credits": 2 * self.credits,
            }
            for near_switch, far_switch in pairwise(names)
        ]

    def _array(self) -> dict[str, Any]:
        service = {"minimum_seconds": self.service_seconds, "tail_seconds": self.tail_seconds}
        return {
            **self._fields_of(Array),
            "name": "fa1",
            "id": "5f1c0b7e-6a1d-4c55-9d0e-2b8f4d3a9c10",
            "version": "6.6.3",
            "model": "FA-X20R4",
            "read": service,
            "write": service,
            "ports": [
                {
                    "name": self._target(fabric, second),
                    "wwpn": f"52:4a:93:70:00:00:00:{fabric * 16 + second:02x}",
                    "capable_gigabit": self.array_gigabit[fabric],
                    "switch_port": self.array_port(fabric, second),
                    "credits": self.credits,
                    "damaged_frame_ratio": self.damaged_frame_ratio["array"] if (fabric, second) == (0, 0) else 0.0,
                }
                for fabric in range(self.fabrics)
                for second in range(2)
            ],
        }

    def _other_array(self) -> dict[str, Any]:
        alike = self._array()
        ports = [
            {
                **port,
                "wwpn": port["wwpn"].replace("52:4a:93:70:00", "52:4a:93:71:00"),
                "capable_gigabit": self.other_gigabit[fabric],
                "switch_port": self.other_array_port(fabric, second),
                "damaged_frame_ratio": 0.0,
            }
            for port, (fabric, second) in zip(alike["ports"], product(range(self.fabrics), range(2)), strict=True)
        ]
        identity = {
            "name": "fa2",
            "id": "6a2d1c8f-7b2e-4d66-8e1f-3c9a5e4b0d21",
            "volume": _volume(90),
            "ports": ports,
        }
        return {**alike, **identity}

    def _volume(self, number: int) -> dict[str, Any]:
        """A volume; those of the test have its limits."""
        limits = {"bandwidth_limit": self.bandwidth_limit, "iops_limit": self.iops_limit}
        return {**_volume(number), **(limits if number <= self.volumes else {})}

    def _target(self, fabric: int, second: int) -> str:
        return f"CT{fabric}.FC{second}"

    def _port(self, switch: str, number: int) -> str:
        return f"{switch}/0/{number - 1}" if self.agent == "fabric_os" else f"{switch}/fc1/{number}"


def _volume(number: int) -> dict[str, Any]:
    return {
        "name": f"vol{number:02}",
        "id": f"0c9a2f54-51e7-4b0f-8f2e-7d1f2f6c8a{number:02x}",
        "serial": f"5F1C0B7E6A1D4C55000110{number:02X}",
        "provisioned_bytes": 2**40,
        "lun": number,
    }
