"""Loads in pods, diagnosed down to the array: what limits is found because the cluster says what the pod uses.

The cluster's part of each recording is what the collector makes of the recorded answers of a real API server
(tests/collectors/kubernetes). Nothing else says on which node the load runs, or which volume it uses. Nodes,
target ports and volumes have neighbours that do as much, so that the place cannot be guessed: without the cluster it
is not named.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.model import Scalar, SourceEntity, SourceLink
from sanpath.topology.paths import hosts_of
from sanpath.topology.resolve import resolve
from sanpath_collectors.kubernetes.collector import Kubernetes
from sanpath_collectors.kubernetes.config import KubernetesConfig
from tests.support.recording import RecordingBuilder
from tests.support.replay import ReplayContext
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, Port, San
from tests.support.stories import COUNTED, NOTHING, SECOND_TARGET, X, fast, judged, saturated_array

ANSWERS = Path(__file__).parents[1] / "collectors/kubernetes/v1.35-volumes-of-every-kind/replies"
MOVED = "pod-scheduled-anew-on-another-node"
NODE_PORT = replace(HOST_PORT, host="worker-1")
OTHER_NODE = Port("fc1/3", "vmhba2", "21000024ff000009", host="worker-0")
OTHER_TARGET = replace(SECOND_TARGET, name="fc1/0")


@dataclass
class KubernetesSan(San):
    """A load in the pod `pod` of the recorded cluster; "": the cluster is not read.

    `arrays`: as in the configuration of the source. `volume_ids`: of the load's volume vol01 at its array fa1;
    `volume`: attributes of it, `volume_name`: its name. `addresses`: target port → its IP address. fa1 has a second
    volume with the same limits, and the cluster a second node.
    """

    pod: str = ""
    arrays: Mapping[str, str] = field(default_factory=dict)
    volume_ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    volume: Mapping[str, Scalar] = field(default_factory=dict)
    volume_name: str = "vol01"
    addresses: Mapping[str, str] = field(default_factory=dict)

    def _configuration(self, out: RecordingBuilder) -> None:
        for port in self.ports:
            if port.host:
                name = f"{port.host}/{port.device}"
                out.entity("config", "hba", name, ids={"wwpn": (port.wwpn,)})
                out.configure_link(f"hba:{name} attached_to host:{port.host}")
        if self.pod:
            out.source("k8s", "kubernetes", every=30)
            asyncio.run(self._collect(out))

    async def _collect(self, out: RecordingBuilder) -> None:
        about = {"name": "k8s", "collector": "kubernetes", "token": "token-of-the-service-account"}
        loads = {"fio": f"perf/{self.pod}"}
        collector = Kubernetes(KubernetesConfig.model_validate({**about, "loads": loads, "arrays": self.arrays}))
        context = ReplayContext(SimpleNamespace(now_us=lambda: 0), ANSWERS)
        await collector.open(context)
        async for item in collector.inventory(context):
            if isinstance(item, SourceEntity):
                out.entity("k8s", item.kind, item.local_id, item.label, item.ids, item.attributes)
            elif isinstance(item, SourceLink):
                out.link("k8s", item.relation, (item.from_end, item.to_end), item.evidence)
        for at in range(0, int(self.steps[-1].end), 30):
            out.poll("k8s", at)

    def _array(self, out: RecordingBuilder, last: float) -> None:
        super()._array(out, last)
        out.entity("fa1", "volume", "vol01", self.volume_name, self.volume_ids, self.volume)
        ids = {"naa": ("naa.624a93706c1b16ce1c034d1c00099999",)}
        out.entity("fa1", "volume", "vol02", ids=ids, attributes=self.volume)
        out.link("fa1", "member_of", (("volume", "vol02"), ("array", "fa1")))
        for port in self.ports:
            if not port.host and port.device in self.addresses:
                ids = {"wwpn": (port.wwpn,), "ip": (self.addresses[port.device],)}
                out.entity("fa1", "array_port", port.device, ids=ids)


Story = Callable[[KubernetesSan], San]
WIRE = 4 * 2076 + 52
"""Counted bytes of 8 KiB: four frames and a response."""


@dataclass(frozen=True)
class Case:
    """A load in a pod, and what limits it. `settings`: of the recording."""

    story: Story
    entity: str
    kind: str = "bottleneck"
    settings: Mapping[str, object] = field(default_factory=dict)


def full_link_of_the_node(san: KubernetesSan) -> San:
    """4GFC at both nodes, and both links are full: X = 6,250 IOPS of 64 KiB each, 415.2 of 425 MB/s."""
    san.ports = [NODE_PORT, OTHER_NODE, fast(ARRAY_PORT)]
    for n in (16, 128, 512):
        counted = {"fc1/7": (COUNTED, NOTHING), "fc1/3": (COUNTED, NOTHING), "fc1/1": (2 * COUNTED, NOTHING)}
        at_array = {"read": AtArray(0.00035, san=0.0047 if n > 16 else 0.0021, others=X)}
        san.step(f"t{n}", n, read=Flow(X, n / X), ports=counted, array=at_array)
    return san


def full_target_port(san: KubernetesSan) -> San:
    """16GFC at both nodes; both 4GFC target ports are full, one with the load, the other with that of worker-0."""
    san.ports = [fast(NODE_PORT), fast(OTHER_NODE), *(fast(port, 4) for port in (ARRAY_PORT, OTHER_TARGET))]
    for n in (16, 128, 512):
        counted = {port.name: (COUNTED, NOTHING) for port in san.ports}
        at_array = {"read": AtArray(0.00035, san=0.0047 if n > 16 else 0.0021, others=X)}
        san.step(f"t{n}", n, read=Flow(X, n / X), ports=counted, array=at_array)
    return san


def saturated(san: KubernetesSan) -> San:
    """As the story of the saturated array: 101,000 IOPS of 8 KiB, of which the array takes more and more time."""
    san.ports = [NODE_PORT, ARRAY_PORT]
    saturated_array(san)
    # Others use it as well: by its traffic alone, nobody knows that it serves the load.
    san.steps[:] = [replace(step, array={"read": replace(step.array["read"], others=12_000)}) for step in san.steps]
    return san


def limited_volume(san: KubernetesSan) -> San:
    """A limit of 3,000 IOPS for each of two volumes; N / 3,000 is 5.3 and 21.3 ms, all but 0.4 ms of it the wait."""
    san.ports = [fast(NODE_PORT), fast(OTHER_NODE), fast(ARRAY_PORT)]
    san.volume = {"qos_ops_per_second": 3000}
    for n in (1, 16, 64):
        ops = min(3000.0, n / 0.0004)
        counted = {"fc1/7": (ops * WIRE, NOTHING), "fc1/3": (ops * WIRE, NOTHING), "fc1/1": (2 * ops * WIRE, NOTHING)}
        at_array = {"read": AtArray(0.00035, san=2e-5, qos=n / ops - 0.0004, others=ops)}
        san.step(f"q{n}", n, block=8 * KIB, read=Flow(ops, n / ops), ports=counted, array=at_array)
    return san


def limited_by_the_cloud(limit: float) -> Story:
    """A volume that takes 0.5 ms until the load reaches the limit, in operations a second; only the load is read."""

    def story(san: KubernetesSan) -> San:
        san.leave_out, san.ports = {"disk", "switch", "array"}, []
        for n in (1, 64, 256):
            ops = min(limit, n / 0.0005)
            san.step(f"q{n}", n, block=8 * KIB, read=Flow(ops, n / ops))
        return san

    return story


def by_naa(identifier: str) -> Mapping[str, object]:
    return {"volume_ids": {"naa": (identifier,)}}


PURE_NAME, IMAGE = "k8s-pvc-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", "csi-vol-f3fadd19-f2d6-4b1b-a57e-2ad09f47c7c0"
EBS_NODE = "ip-10-0-1-5.eu-central-1.compute.internal"
CASES: Mapping[str, Case] = {
    "fc-wwid": Case(
        full_link_of_the_node,
        "link:worker-1/vmhba2--sw1/fc1/7",
        settings=by_naa("naa.624a93706c1b16ce1c034d1c00013918"),
    ),
    "fc-ports": Case(full_target_port, "link:sw1/fc1/1--fa1/CT0.FC0"),
    "iscsi": Case(full_target_port, "link:sw1/fc1/1--fa1/CT0.FC0", settings={"addresses": {"CT0.FC0": "10.20.0.11"}}),
    "powerstore": Case(saturated, "array:fa1", settings=by_naa("naa.68ccf098003ceb5e4577a20be6d11bf9")),
    "trident-iscsi": Case(
        limited_volume,
        "volume:fa1/vol01",
        "configured_cap",
        by_naa("naa.600a0980796f6377423f576c3778326c"),
    ),
    "trident-nvme": Case(
        full_target_port, "link:sw1/fc1/1--fa1/CT0.FC0", settings={"addresses": {"CT0.FC0": "10.20.0.12"}}
    ),
    "powerstore-nvme": Case(
        full_link_of_the_node,
        "link:worker-1/vmhba2--sw1/fc1/7",
        settings={"volume_ids": {"eui": ("eui.006c1b16ce1c034d24a9371c00013918",)}},
    ),
    "ibm": Case(saturated, "array:fa1", settings=by_naa("naa.6005076810830237180000000000028a")),
    "pure": Case(
        limited_volume,
        f"volume:fa1/{PURE_NAME}",
        "configured_cap",
        {"arrays": {"pure-csi": "fa1"}, "volume_name": PURE_NAME},
    ),
    "rbd": Case(
        limited_volume,
        f"volume:fa1/replicapool/{IMAGE}",
        "configured_cap",
        {"arrays": {"ceph-rbd": "fa1"}, "volume_name": f"replicapool/{IMAGE}"},
    ),
    "ebs": Case(limited_by_the_cloud(3000), "volume:k8s/vol-0abc1234def567890", "configured_cap"),
    "ebs-modified": Case(limited_by_the_cloud(4000), "volume:k8s/vol-0fed9876cba543210", "configured_cap"),
    "ebs-fast": Case(limited_by_the_cloud(40_000), f"host:{EBS_NODE}", "configured_cap"),
    "pd": Case(limited_by_the_cloud(3600), "volume:k8s/pvc-1d5a9f4e", "configured_cap"),
    "azure": Case(limited_by_the_cloud(5000), "volume:k8s/pvc-91be2a7c", "configured_cap"),
}


def diagnosed(folder: Path, case: Case, pod: str) -> Diagnosis:
    # By traffic alone, nobody knows which of two volumes is the load's.
    san = KubernetesSan(folder, leave_out={"disk"}, twin=True, **{**case.settings, "pod": pod})  # type: ignore[arg-type]
    return judged(case.story(san).write())


@pytest.mark.parametrize("pod", CASES)
def test_what_limits_a_load_in_a_pod_is_named_and_only_because_the_cluster_is_read(pod: str, tmp_path: Path) -> None:
    case = CASES[pod]
    found = diagnosed(tmp_path / "with", case, pod)
    assert (found.verdict.kind, [b.entity for b in found.verdict.bottlenecks]) == (case.kind, [case.entity])
    without = diagnosed(tmp_path / "without", case, "")
    assert case.entity not in [b.entity for b in without.verdict.bottlenecks]


def test_a_pod_on_another_node_takes_the_paths_of_that_node() -> None:
    """In the recorded case the pod is on worker-1 in the inventory, and on worker-2 from the first poll on."""
    before, after = asyncio.run(_moved_pod())
    reports = [("k8s", 0, item) for item in before] + [("k8s", 60, item) for item in after]
    reports.append(("fio", 0, SourceEntity("load", "fio", "fio")))
    for moment_us, host in ((30, "host:worker-1"), (90, "host:worker-2"), (None, "host:worker-2")):
        topology = resolve(reports, moment_us)
        assert hosts_of(topology, "load:fio") == [host]
        (lun,) = topology.related("vdisk:mover-0/powerstore", "backed_by", "lun")
        assert topology.related(lun, "attached_to", "host") == [host]


async def _moved_pod() -> tuple[list[SourceEntity | SourceLink], list[SourceEntity | SourceLink]]:
    """What the inventory and the first poll report of the pod that is scheduled anew."""
    about = {"name": "k8s", "collector": "kubernetes", "token": "token-of-the-service-account"}
    collector = Kubernetes(KubernetesConfig.model_validate({**about, "loads": {"fio": "perf/mover-0"}}))
    context = ReplayContext(SimpleNamespace(now_us=lambda: 0), ANSWERS.parents[1] / MOVED / "replies")
    await collector.open(context)
    await collector.check(context)
    before = [item async for item in collector.inventory(context)]
    polled = [item async for item in collector.poll(context)]
    return before, [item for item in polled if isinstance(item, SourceEntity | SourceLink)]
