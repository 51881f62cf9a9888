"""A real kube-apiserver with its etcd on loopback addresses, filled with the objects of a cluster.yaml.

The programs are looked for where envtest of Kubernetes' controller-runtime looks: in the folder KUBEBUILDER_ASSETS,
or on the PATH. Nothing schedules pods or attaches volumes: the objects and their status are written as the
components of a cluster would write them.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sanpath_collectors.kubernetes.parse import attachment_name

_ADMIN = "test-administrator"  # the static token of this server, which only listens on a loopback address
_STORAGE = "/apis/storage.k8s.io/v1"
NAMESPACE = "perf"


def program(name: str) -> str | None:
    """Return the path of a program; None: it is not installed."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    return shutil.which(name, path=assets) if assets else shutil.which(name)


@dataclass(frozen=True, slots=True)
class ApiServer:
    """A running API server. `address`: host and port; `ca_file`: PEM of its certificate."""

    address: str
    ca_file: Path

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request as administrator and return the answer. Raises HTTPError, with the server's message."""
        is_patch = method == "PATCH"
        request = urllib.request.Request(
            f"https://{self.address}{path}",
            None if body is None else json.dumps(body).encode(),
            {
                "authorization": f"Bearer {_ADMIN}",
                "content-type": "application/merge-patch+json" if is_patch else "application/json",
            },
            method=method,
        )
        context = ssl.create_default_context(cafile=str(self.ca_file))
        try:
            with urllib.request.urlopen(request, timeout=30, context=context) as reply:
                answer: dict[str, Any] = json.loads(reply.read())
                return answer
        except urllib.error.HTTPError as error:
            error.add_note(error.read().decode("utf-8", "replace"))
            raise

    def create(self, path: str, kind: str, api: str, name: str, **fields: Any) -> None:
        """Create an object, and write its status where it has one: servers drop it from new objects."""
        metadata = {"name": name, **fields.pop("metadata", {})}
        self.send("POST", path, {"apiVersion": api, "kind": kind, "metadata": metadata, **fields})
        if "status" in fields:
            self.send("PATCH", f"{path}/{name}/status", {"status": fields["status"]})

    def token(self, role: str) -> str:
        """Create the account, roles and bindings of a YAML text, and return a token of its service account."""
        groups = {"v1": "/api/v1", "rbac.authorization.k8s.io/v1": "/apis/rbac.authorization.k8s.io/v1"}
        account = ""
        for item in yaml.safe_load_all(role):
            namespace = item["metadata"].get("namespace")
            folder = f"/namespaces/{namespace}" if namespace else ""
            path = f"{groups[item['apiVersion']]}{folder}/{item['kind'].lower()}s"
            self.send("POST", path, item)
            if item["kind"] == "ServiceAccount":
                account = f"{path}/{item['metadata']['name']}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}}
        return str(self.send("POST", account, request)["status"]["token"])


@contextmanager
def api_server(folder: Path) -> Iterator[ApiServer]:
    """Start etcd and an API server with their data in a folder, and end both. Raises OSError: one is missing."""
    etcd, server = program("etcd"), program("kube-apiserver")
    if etcd is None or server is None:
        raise FileNotFoundError("etcd and kube-apiserver")
    client, peer, port = _free_ports(3)
    key = folder / "account.key"
    subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    (folder / "tokens.csv").write_text(f"{_ADMIN},admin,1,system:masters\n", encoding="utf-8")
    etcd_url = f"http://127.0.0.1:{client}"
    of_etcd = {"data-dir": folder / "etcd", "listen-peer-urls": f"http://127.0.0.1:{peer}"}
    of_etcd |= dict.fromkeys(("listen-client-urls", "advertise-client-urls"), etcd_url)
    of_server = {
        "etcd-servers": etcd_url,
        "bind-address": "127.0.0.1",
        "secure-port": port,
        "cert-dir": folder / "certificates",
        "token-auth-file": folder / "tokens.csv",
        "authorization-mode": "RBAC",
        "disable-admission-plugins": "ServiceAccount",
        "service-cluster-ip-range": "10.0.0.0/24",
        "service-account-issuer": "https://kubernetes.default.svc",
        **dict.fromkeys(("service-account-key-file", "service-account-signing-key-file"), key),
    }
    commands = [
        [path, *(f"--{name}={value}" for name, value in options.items())]
        for path, options in ((etcd, of_etcd), (server, of_server))
    ]
    running = []
    try:
        for number, command in enumerate(commands):
            with (folder / f"{number}.log").open("wb") as log:
                running.append(subprocess.Popen(command, stdout=log, stderr=log))
        api = ApiServer(f"127.0.0.1:{port}", folder / "certificates" / "apiserver.crt")
        _wait_until_ready(api, running[1], folder / "1.log")
        yield api
    finally:
        for process in reversed(running):
            # Nothing of theirs is needed any more, and a graceful end takes a minute.
            process.kill()
            process.wait()


def fill(api: ApiServer, cluster: Mapping[str, Any]) -> None:
    """Create the objects of a cluster.yaml; each volume has a claim and a running pod of its name."""
    api.create("/api/v1/namespaces", "Namespace", "v1", NAMESPACE)
    for name, about in cluster["nodes"].items():
        labels = {"kubernetes.io/hostname": name}
        if "instance" in about:
            labels["node.kubernetes.io/instance-type"] = about["instance"]
        capacity = {"cpu": about["cpu"], "memory": about["memory"]}
        status = {
            "capacity": capacity,
            "addresses": [{"type": "InternalIP", "address": "10.0.1.5"}, {"type": "Hostname", "address": name}],
            "nodeInfo": {**dict.fromkeys(_NODE_INFO, ""), "kernelVersion": about["kernel"]},
        }
        spec = {"providerID": about["provider"]} if "provider" in about else {}
        api.create("/api/v1/nodes", "Node", "v1", name, metadata={"labels": labels}, spec=spec, status=status)
    for name, fields in cluster["classes"].items():
        api.create(f"{_STORAGE}/storageclasses", "StorageClass", "storage.k8s.io/v1", name, **fields)
    for name, fields in cluster["attributes_classes"].items():
        path = f"{_STORAGE}/volumeattributesclasses"
        api.create(path, "VolumeAttributesClass", "storage.k8s.io/v1", name, **fields)
    for name, volume in cluster["volumes"].items():
        _volume(api, name, volume)
        create_pod(api, name, volume["node"])


def create_pod(api: ApiServer, name: str, node: str, claim: str = "") -> None:
    """Create a running pod with one claim, by default that of its name."""
    container = {
        "name": "fio",
        "image": "fio",
        "resources": {"limits": {"cpu": "4", "memory": "8Gi"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": claim or name}},
        {"name": "scratch", "emptyDir": {}},
    ]
    spec = {"nodeName": node, "containers": [container], "volumes": volumes}
    state = {"name": "fio", "image": "fio", "imageID": "", "ready": True, "restartCount": 0}
    status = {"phase": "Running", "containerStatuses": [state]}
    api.create(f"/api/v1/namespaces/{NAMESPACE}/pods", "Pod", "v1", name, spec=spec, status=status)


def _volume(api: ApiServer, name: str, about: Mapping[str, Any]) -> None:
    size, storage_class = about.get("size", "200Gi"), about.get("class", "")
    attributes = {"volumeAttributesClassName": about["attributes_class"]} if "attributes_class" in about else {}
    common = {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class, **attributes}
    affinity = {
        "required": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [about["node"]]}]}
            ]
        }
    }
    spec = {**common, "capacity": {"storage": size}, **about["volume"]}
    if "local" in spec:
        spec["nodeAffinity"] = affinity
    api.create("/api/v1/persistentvolumes", "PersistentVolume", "v1", f"pv-{name}", spec=spec)
    claim = {**common, "resources": {"requests": {"storage": size}}, "volumeName": f"pv-{name}"}
    status = {"phase": "Bound"}
    if attributes:
        status["currentVolumeAttributesClassName"] = about["attributes_class"]
    path = f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims"
    api.create(path, "PersistentVolumeClaim", "v1", name, spec=claim, status=status)
    if "attached" in about:
        attach(api, f"pv-{name}", about["volume"]["csi"], about["node"], about["attached"])


def attach(api: ApiServer, volume: str, csi: Mapping[str, str], node: str, context: Mapping[str, str]) -> None:
    """Attach a CSI volume to a node."""
    spec = {"attacher": csi["driver"], "nodeName": node, "source": {"persistentVolumeName": volume}}
    name = attachment_name(csi["volumeHandle"], csi["driver"], node)
    status = {"attached": True, "attachmentMetadata": dict(context)}
    path = f"{_STORAGE}/volumeattachments"
    api.create(path, "VolumeAttachment", "storage.k8s.io/v1", name, spec=spec, status=status)


_NODE_INFO = (
    *("machineID", "systemUUID", "bootID", "osImage", "containerRuntimeVersion", "kubeletVersion"),
    *("kubeProxyVersion", "operatingSystem", "architecture"),
)


def _wait_until_ready(api: ApiServer, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 90
    while time.monotonic() < until and server.poll() is None:
        try:
            # The roles that a fresh server makes are there when it is ready.
            api.send("GET", "/readyz?verbose")
        except json.JSONDecodeError:
            return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(log.read_text(encoding="utf-8", errors="replace")[-2000:])


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [item.getsockname()[1] for item in sockets]
    for item in sockets:
        item.close()
    return ports
