"""A vCenter for tests: properties, counters and faults are set, and pyVmomi writes the replies as a server would.

`Vcenter.answer` is bytes in, bytes out; `serving` puts it behind HTTPS on 127.0.0.1.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from aiohttp import web
from pyVmomi import SoapAdapter, VmomiSupport, vim, vmodl

VERSION = "vim.version.v8_0_3_0"
STARTED = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
_NS = "{urn:vim25}"
VERSIONS = (
    '<?xml version="1.0"?><namespaces version="1.0"><namespace><name>urn:{name}</name><version>{version}</version>'
    "<priorVersions><version>6.5</version></priorVersions></namespace></namespaces>"
)

_OF_UNIT = {
    "Latency": "millisecond",
    "LatencyUS": "microsecond",
    "datastoreVMObservedLatency": "microsecond",
    "sizeNormalizedDatastoreLatency": "microsecond",
    "read": "kiloBytesPerSecond",
    "write": "kiloBytesPerSecond",
    "usage": "percent",
    "siocActiveTimePercentage": "percent",
}


def unit_of(name: str) -> str:
    """The unit of a counter by its name, as a vCenter has it."""
    return _OF_UNIT.get(name) or next((unit for end, unit in _OF_UNIT.items() if name.endswith(end)), "number")


@dataclass
class Vcenter:
    """`objects`: (type, id) → property → value. `counters`: group.name.rollup → id; `units`: of those that
    have another than usual. `samples`: id of a managed object
    → (offsets of its samples in seconds from STARTED, {(counter, instance): values}). `faults`: method → faults to
    answer with, one a call; `delays`: method → seconds; `lines`: method of esxcli → its answer; `vsan`: entity type →
    what its performance service tells; `most_metrics`: entities that one QueryPerf may ask for."""

    objects: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    samples: dict[str, tuple[list[int], dict[tuple[str, str], str]]] = field(default_factory=dict)
    faults: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    delays: dict[str, float] = field(default_factory=dict)
    lines: dict[str, str] = field(default_factory=dict)
    password: str = "right"
    seconds: float = 0.0
    extra_counters: list[int] = field(default_factory=list)
    vsan: dict[str, list[Any]] = field(default_factory=dict)
    most_metrics: int = 1000
    calls: list[str] = field(default_factory=list)
    sessions: set[str] = field(default_factory=set)

    @property
    def now(self) -> datetime:
        """Its clock."""
        return STARTED + timedelta(seconds=self.seconds)

    def answer(self, body: bytes, cookie: str, namespace: str = "vim25") -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body."""
        root = ElementTree.fromstring(body)
        call = root[-1][0]
        method = call.tag.rpartition("}")[2]
        self.calls.append(method)
        if self.faults[method]:
            return 500, {}, _fault(self.faults[method].pop(0))
        if method not in ("RetrieveServiceContent", "Login") and cookie.partition("=")[2] not in self.sessions:
            return 500, {}, _fault(vim.fault.NotAuthenticated(msg="The session is not authenticated."))
        headers = {}
        try:
            value = getattr(self, f"_{method}")(call)
        except _AnsweredError as raised:
            return 500, {}, _fault(raised.fault)
        if method == "Login":
            token = f"session-{len(self.calls)}"
            self.sessions.add(token)
            headers["Set-Cookie"] = f"vmware_soap_session={token}; Path=/; HttpOnly; Secure"
        if method == "Logout":
            self.sessions.discard(cookie.partition("=")[2])
        return 200, headers, reply(method, value, namespace)

    # What the methods of the API answer.

    def _RetrieveServiceContent(self, call: ElementTree.Element) -> Any:  # noqa: N802, ARG002
        return vim.ServiceInstanceContent(
            about=vim.AboutInfo(
                name="VMware vCenter Server",
                fullName="VMware vCenter Server 8.0.3 build-1",
                vendor="VMware, Inc.",
                version="8.0.3",
                build="1",
                osType="linux-x64",
                productLineId="vpx",
                apiType="VirtualCenter",
                apiVersion="8.0.3.0",
            ),
            rootFolder=vim.Folder("group-d1", None),
            propertyCollector=vmodl.query.PropertyCollector("propertyCollector", None),
            viewManager=vim.view.ViewManager("ViewManager", None),
            sessionManager=vim.SessionManager("SessionManager", None),
            perfManager=vim.PerformanceManager("PerfMgr", None),
            authorizationManager=vim.AuthorizationManager("AuthorizationManager", None),
        )

    def _Login(self, call: ElementTree.Element) -> Any:  # noqa: N802
        if call.findtext(f"{_NS}password") != self.password:
            raise _AnsweredError(
                vim.fault.InvalidLogin(msg="Cannot complete login due to an incorrect user name or password.")
            )
        return _session()

    def _Logout(self, call: ElementTree.Element) -> Any:  # noqa: N802, ARG002
        return None

    def _CurrentTime(self, call: ElementTree.Element) -> Any:  # noqa: N802, ARG002
        return self.now

    def _CreateContainerView(self, call: ElementTree.Element) -> Any:  # noqa: N802, ARG002
        return vim.view.ContainerView("view-1", None)

    def _DestroyView(self, call: ElementTree.Element) -> Any:  # noqa: N802, ARG002
        return None

    def _RetrievePropertiesEx(self, call: ElementTree.Element) -> Any:  # noqa: N802
        wanted = {
            spec.findtext(f"{_NS}type") or "": [path.text or "" for path in spec.iter(f"{_NS}pathSet")]
            for spec in call.iter(f"{_NS}propSet")
        }
        named = {(obj.get("type"), obj.text) for obj in call.iter(f"{_NS}obj")}
        viewed = ("ContainerView", "view-1") in named
        found = []
        for (kind, moid), properties in self._all().items():
            if kind in wanted and (viewed or (kind, moid) in named):
                paths = [path for path in wanted[kind] if path in properties]
                found.append(
                    vmodl.query.PropertyCollector.ObjectContent(
                        obj=VmomiSupport.GuessWsdlType(kind)(moid, None),
                        propSet=[
                            vmodl.DynamicProperty(name=path, val=_typed(kind, path, properties[path]))
                            for path in paths
                        ],
                    )
                )
        if not found and not viewed:
            raise _AnsweredError(_GONE)
        return vmodl.query.PropertyCollector.RetrieveResult(objects=found) if found else None

    def _all(self) -> dict[tuple[str, str], dict[str, Any]]:
        perf = {"perfCounter": [_counter(name, key, self.units.get(name)) for name, key in self.counters.items()]}
        return {
            **self.objects,
            ("PerformanceManager", "PerfMgr"): perf,
            ("SessionManager", "SessionManager"): {"currentSession": _session()},
        }

    def _HasPrivilegeOnEntities(self, call: ElementTree.Element) -> Any:  # noqa: N802
        manager = vim.AuthorizationManager
        granted = [
            manager.PrivilegeAvailability(
                privId=one.text, isGranted=one.text != "System.View" or "blind" not in self.lines
            )
            for one in call.iter(f"{_NS}privId")
        ]
        return [manager.EntityPrivilege(entity=vim.Folder("group-d1", None), privAvailability=granted)]

    def _QueryAvailablePerfMetric(self, call: ElementTree.Element) -> Any:  # noqa: N802
        moid = call.findtext(f"{_NS}entity") or ""
        _, series = self.samples.get(moid, ([], {}))
        ids = {self.counters[name] for name, _ in series if name in self.counters}
        return [vim.PerformanceManager.MetricId(counterId=key, instance="") for key in (*sorted(ids), 10042)]

    def _QueryPerf(self, call: ElementTree.Element) -> Any:  # noqa: N802
        manager = vim.PerformanceManager
        specs = call.findall(f"{_NS}querySpec")
        if len(specs) > self.most_metrics:
            text = "This operation is restricted by the administrator - 'vpxd.stats.maxQueryMetrics'."
            raise _AnsweredError(vmodl.fault.SystemError(msg=text, reason=text))
        answers = []
        for spec in specs:
            entity = spec.find(f"{_NS}entity")
            assert entity is not None
            asked = {int(one.text or 0) for one in spec.iter(f"{_NS}counterId")}
            if (entity.get("type"), entity.text) not in self.objects:
                raise _AnsweredError(_GONE)
            offsets, series = self.samples.get(entity.text or "", ([], {}))
            outcome = [
                manager.MetricSeriesCSV(
                    id=manager.MetricId(counterId=self.counters[name], instance=instance), value=values
                )
                for (name, instance), values in series.items()
                if self.counters.get(name) in asked
            ]
            outcome += [
                manager.MetricSeriesCSV(id=manager.MetricId(counterId=key, instance="naa.1"), value="1")
                for key in self.extra_counters
            ]
            times = ",".join(f"20,{STARTED + timedelta(seconds=offset):%Y-%m-%dT%H:%M:%SZ}" for offset in offsets)
            reference = VmomiSupport.GuessWsdlType(str(entity.get("type")))(entity.text, None)
            answers.append(manager.EntityMetricCSV(entity=reference, sampleInfoCSV=times, value=outcome))
        return answers

    def _RetrieveManagedMethodExecuter(self, call: ElementTree.Element) -> Any:  # noqa: N802, ARG002
        return VmomiSupport.GetVmodlType("vim.reflect.ReflectManagedMethodExecuter")("executer-1", None)

    def _ExecuteSoap(self, call: ElementTree.Element) -> Any:  # noqa: N802
        method = call.findtext(f"{_NS}method") or ""
        outcome = VmomiSupport.GetVmodlType("vim.reflect.SoapResult")
        if method in self.lines:
            return outcome(response=self.lines[method])
        fault = VmomiSupport.GetVmodlType("vim.reflect.SoapFault")
        return outcome(fault=fault(faultMsg="The object or item referred to could not be found."))

    def _VsanPerfGetSupportedEntityTypes(self, call: ElementTree.Element) -> Any:  # noqa: N802, ARG002
        kind, graph = (VmomiSupport.GetVmodlType(f"vim.cluster.VsanPerf{name}") for name in ("EntityType", "Graph"))
        return [kind(name=name, id=name, graphs=[graph(id="g", metrics=[_metric()], unit="x")]) for name in self.vsan]

    def _VsanPerfQueryPerf(self, call: ElementTree.Element) -> Any:  # noqa: N802
        asked = next(one.text or "" for one in call.iter() if one.tag.endswith("}entityRefId"))
        return self.vsan[asked.partition(":")[0]]


def _typed(kind: str, path: str, value: Any) -> Any:
    """A property's value as pyVmomi writes it: its lists know what they are lists of."""
    owner = VmomiSupport.GuessWsdlType(kind)
    for part in path.split("."):
        owner = owner._GetPropertyInfo(part).type
    return owner(value) if isinstance(value, list) else value


def _metric() -> Any:
    return VmomiSupport.GetVmodlType("vim.cluster.VsanPerfMetricId")(label="iopsRead")


class _AnsweredError(Exception):
    def __init__(self, fault: Any) -> None:
        super().__init__(type(fault).__name__)
        self.fault = fault


def reply(method: str, value: Any, namespace: str = "vim25") -> bytes:
    """A SOAP reply that returns a value."""
    kind = VmomiSupport.GuessWsdlMethod(method).info.result
    parts = value if isinstance(value, list) else [] if value is None else [value]
    item = kind.Item if issubclass(kind, list) else kind
    return _envelope(f"{method}Response", "".join(serialised("returnval", part, item) for part in parts), namespace)


def serialised(name: str, value: Any, kind: Any) -> str:
    """A value as an element."""
    spaces = SoapAdapter.SOAP_NSMAP.copy()
    spaces["urn:vim25"] = ""
    info = VmomiSupport.Object(name=name, type=kind, version=VERSION, flags=0)
    return str(SoapAdapter.SerializeToStr(value, info, VERSION, spaces))


def _envelope(tag: str, content: str, namespace: str = "vim25") -> bytes:
    schema = "http://www.w3.org/2001/XMLSchema"
    soap = "http://schemas.xmlsoap.org/soap/envelope/"
    start = f'<soapenv:Envelope xmlns:soapenv="{soap}" xmlns:xsd="{schema}" xmlns:xsi="{schema}-instance">'
    inner = f'<{tag} xmlns="urn:{namespace}">{content}</{tag}>' if tag else content
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    return f"{head}{start}<soapenv:Body>{inner}</soapenv:Body></soapenv:Envelope>".encode()


def _fault(fault: Any) -> bytes:
    spaces = SoapAdapter.SOAP_NSMAP.copy()
    spaces["urn:vim25"] = ""
    tag = f"{fault._wsdlName}Fault"
    info = VmomiSupport.Object(name=tag, type=object, version=VERSION, flags=0)
    detail = SoapAdapter.SerializeFaultDetail(fault, info, VERSION, spaces).replace(
        f"<{tag}", f'<{tag} xmlns="urn:vim25"', 1
    )
    text = f"<faultcode>ServerFaultCode</faultcode><faultstring>{fault.msg}</faultstring><detail>{detail}</detail>"
    return _envelope("", f"<soapenv:Fault>{text}</soapenv:Fault>")


_GONE = vmodl.fault.ManagedObjectNotFound(
    obj=vim.ManagedEntity("gone", None), msg="The object has already been deleted."
)


def _session() -> Any:
    return vim.UserSession(
        key="5211",
        userName="sanpath",
        fullName="sanpath",
        loginTime=STARTED,
        lastActiveTime=STARTED,
        locale="en",
        messageLocale="en",
    )


def _counter(name: str, key: int, unit: str | None) -> Any:
    group, called, rollup = name.split(".")
    described = {"label": called, "summary": called}
    return vim.PerformanceManager.CounterInfo(
        key=key,
        groupInfo=vim.ElementDescription(key=group, **described),
        nameInfo=vim.ElementDescription(key=called, **described),
        unitInfo=vim.ElementDescription(key=unit or unit_of(called), **described),
        rollupType=rollup,
        statsType="absolute",
    )


@contextlib.asynccontextmanager
async def serving(vcenter: Vcenter, certificate: Path) -> AsyncIterator[str]:
    """host:port of the server. `certificate`: PEM with key and certificate."""

    async def soap(request: web.Request) -> web.Response:
        body = await request.read()
        status, headers, reported = vcenter.answer(body, request.headers.get("Cookie", ""))
        await asyncio.sleep(vcenter.delays.get(vcenter.calls[-1], 0.0))
        return web.Response(status=status, headers=headers, body=reported, content_type="text/xml")

    async def versions(request: web.Request) -> web.Response:
        name = "vsan" if "vsan" in request.path else "vim25"
        version = "8.0.0.4" if name == "vsan" else "8.0.3.0"
        return web.Response(text=VERSIONS.format(name=name, version=version), content_type="text/xml")

    application = web.Application()
    application.router.add_post("/sdk", soap)
    application.router.add_post("/vsanHealth", soap)
    application.router.add_get("/sdk/vimServiceVersions.xml", versions)
    application.router.add_get("/sdk/vsanServiceVersions.xml", versions)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    try:
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def csv(*values: object) -> str:
    """Values of a counter; None: there is none."""
    return ",".join("" if value is None else str(value) for value in values)
