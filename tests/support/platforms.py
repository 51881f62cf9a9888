"""docs/platforms.md: the labelled cases of each platform, which the tests judge.

Write it again: `make platforms`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

from kernel_lab.named_cases import CASES as KERNEL_LAB
from sanpath.docgen.markdown import table
from tests.scenarios import test_arrays_of_other_makes, test_ceph, test_cloud_volumes, test_kubernetes

PAGE = Path(__file__).parents[2] / "docs/platforms.md"
_INTRODUCTION = """\
<!-- generated: make platforms -->
# Platforms, and how each was tried

Each platform below has labelled cases: what limits was set, or stated, before anybody looked at the verdict.
The tests judge every case again, and fail if another place is named. What was real is written beside them, and
what has never met a live device. How often the verdict is right on cases that are drawn at random is on
[another page](accuracy.md).

A platform is a folder below `collectors/sanpath_collectors/`, or a profile of the collector `prometheus`.
Nothing else depends on it: without the folder or the profile, the tests of everything else pass.
"""
_KINDS: Mapping[str, str] = {
    "bottleneck": "saturated",
    "configured_cap": "at its configured limit",
    "concurrency_limited": "too few outstanding I/Os",
    "demand_limited": "the load asks for no more",
    "healthy": "the load asks for no more",
    "generator_limited": "the load generator, or its machine",
    "cannot_tell": "cannot tell, as what limits is not read",
}


@dataclass(frozen=True)
class Section:
    """The cases of a platform. `real`: what of them was real; `rows`: case, and what limits it."""

    title: str
    file: str
    real: str
    unverified: str
    rows: Sequence[tuple[str, str]]


def _words(kinds: Iterable[str], elements: Iterable[str]) -> str:
    """What limits: the kinds that are right, each with its words, and the elements."""
    kind = " or ".join(dict.fromkeys(_KINDS[kind] for kind in kinds))
    names = " or ".join(f"`{element}`" for element in elements if element)
    return f"{names}: {kind}" if names else kind


def _arrays() -> Iterator[tuple[str, str]]:
    for name, (exporter, _, truth, _) in test_arrays_of_other_makes.CASES.items():
        entity = truth.entity.format(volume=test_arrays_of_other_makes.VOLUMES.get(exporter, "vol01"))
        yield name, _words([truth.kind], [entity])


def _virtual_machines() -> Iterator[tuple[str, str]]:
    for name, case in KERNEL_LAB.items():
        if name.startswith("kvm-"):
            yield name, _words(case.truth.kinds, case.truth.elements)


def _ceph() -> Iterator[tuple[str, str]]:
    for name, label in test_ceph.LABELS.items():
        yield name, _words([label.kind], [f"{label.element}:" if label.element else ""])


def _cloud() -> Iterator[tuple[str, str]]:
    for name, case in {**test_cloud_volumes.AMAZON, **test_cloud_volumes.BY_TYPE}.items():
        yield name, _words(["configured_cap"], [case.entity])


def _kubernetes() -> Iterator[tuple[str, str]]:
    for name, case in test_kubernetes.CASES.items():
        yield name, _words([case.kind], [case.entity])


SECTIONS = (
    Section(
        "Arrays through their makers' exporters",
        "scenarios/test_arrays_of_other_makes.py",
        """\
The exporters of NetApp, Dell PowerStore (two), Dell PowerMax, IBM and Pure were run against mocked arrays, and
what they answered is kept as cases. The figures of the cases below are stated, get the names of the exporter,
and are imported over the API of a Prometheus server.""",
        """\
every array itself, and two exporters, which are written by their documentation: that of HPE and the older one
of Pure.""",
        list(_arrays()),
    ),
    Section(
        "Virtual machines on KVM",
        "kernel_lab/test_recorded_cases.py",
        """\
Real QEMU 7.2 with a Linux guest; its disk, the limits, threads and backing are set as the case says. The guest
is read over SSH, QEMU over its monitor. `examples/kernel-lab/lab.py run --case NAME` runs one again.
`tests/real_lab/test_qemu.py` runs seven more steps in every test run, on the storage daemon of QEMU.""",
        "hardware virtualisation, vhost, and Proxmox, KubeVirt and Harvester themselves.",
        list(_virtual_machines()),
    ),
    Section(
        "Cloud volumes",
        "scenarios/test_cloud_volumes.py",
        "The bytes of the log pages are as their makers publish them; the load and its figures are stated.",
        "the instances of any cloud.",
        list(_cloud()),
    ),
    Section(
        "Ceph",
        "scenarios/test_ceph.py",
        """\
Recordings of a real Ceph 16.2.15 with two OSDs and fio's engine rbd, with a limit that was set on purpose.
Eight more runs were not told, or only in part: slow flushes, delayed messages, the cache of librbd, distance.""",
        "clusters of more than one machine, Rook, and newer releases.",
        list(_ceph()),
    ),
    Section(
        "Kubernetes",
        "scenarios/test_kubernetes.py",
        """\
The answers are those of a real kube-apiserver 1.35; load, fabric and array are stated. Each case is judged
without the cluster as well, and then the place is not named.""",
        "a cluster with workloads, and every CSI driver on its array: their handles are from sources and documents.",
        list(_kubernetes()),
    ),
)


def page() -> str:
    """The content of docs/platforms.md."""
    parts = [_INTRODUCTION]
    for section in SECTIONS:
        rows = [(f"`{name}`", words) for name, words in section.rows]
        texts = (f"{section.real} Judged by `tests/{section.file}`.", f"Never met live: {section.unverified}")
        parts += [f"## {section.title}\n", *(f"{fill(text, 118, break_on_hyphens=False)}\n" for text in texts)]
        parts.append(table(("case", "what limits, and is named"), rows))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
