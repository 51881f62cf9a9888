"""The methods of the vSphere API of the simulated vCenter that are needed to read properties and counters."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hmac import compare_digest
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from defusedxml import ElementTree

from sanpath_lab.physics.hypervisor_counters import Sample
from sanpath_lab.scenario import Vcenter
from sanpath_lab.simulation import Simulation
from sanpath_lab.site_config import VCENTER_USER
from sanpath_lab.vcenter import esxcli as esxcli
from sanpath_lab.vcenter import inventory as inventory
from sanpath_lab.vcenter import performance as performance
from sanpath_lab.vcenter import soap as soap
from sanpath_lab.vcenter.types import vim, vmodl

COOKIE = "vmware_soap_session"
VERSIONS_PATH = "/sdk/vimServiceVersions.xml"
_NS = "{urn:vim25}"
_WITHOUT_SESSION = ("RetrieveServiceContent", "Login")
_VIEW = "view-1"

Element = Any
"""defusedxml has no annotations: an element of xml.etree."""


class Answer(NamedTuple):
    """The reply to one call: status and headers of HTTP, and the envelope."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class VcenterService:
    """One vCenter with one account. Raises ValueError for a scenario without one."""

    def __init__(self, simulation: Simulation, password: str) -> None:
        vcenter, hypervisor = simulation.scenario.vcenter, simulation.host.hypervisor
        if vcenter is None or hypervisor is None:
            raise ValueError(f"scenario {simulation.scenario.name} has no vCenter")
        self._simulation, self._password = simulation, password
        self._vcenter: Vcenter = vcenter
        self._hypervisor = hypervisor
        self._catalogue = performance.catalogue()
        self._sessions: set[str] = set()
        self._methods: dict[str, Callable[[Element], Any]] = {
            "RetrieveServiceContent": lambda _: self._content(),
            "CurrentTime": lambda _: self._now(),
            "CreateContainerView": lambda _: vim.view.ContainerView(_VIEW, None),
            "DestroyView": lambda _: None,
            "RetrievePropertiesEx": self._properties,
            "HasPrivilegeOnEntities": self._privileges,
            "QueryAvailablePerfMetric": self._available,
            "QueryPerf": self._query,
        }
        """Method → function that returns its value."""
        self._written: dict[str, Callable[[Element], str]] = {
            "RetrieveManagedMethodExecuter": lambda _: _EXECUTER,
            "ExecuteSoap": self._esxcli,
        }
        """Methods without pyVmomi types → function that returns its value as XML."""

    def end_sessions(self) -> None:
        """Forget every session, as after a restart."""
        self._sessions.clear()

    def document(self, path: str) -> bytes | None:
        """Return the document at a path that needs no session. None: no such document."""
        return soap.VERSIONS_DOCUMENT.encode() if path == VERSIONS_PATH else None

    def answer(self, message: bytes, session: str) -> Answer:
        """The reply to a SOAP message; `session`: the cookie that came with it, "" for none."""
        call = ElementTree.fromstring(message)[-1][0]
        method = call.tag.rpartition("}")[2]
        try:
            if method not in _WITHOUT_SESSION and session not in self._sessions:
                raise soap.FaultRaised(vim.fault.NotAuthenticated(msg="The session is not authenticated."))
            return self._answer(method, call, session)
        except soap.FaultRaised as raised:
            return Answer(500, {}, soap.fault(raised.fault))

    def _answer(self, method: str, call: Element, session: str) -> Answer:
        headers: dict[str, str] = {}
        if method == "Login":
            token = self._login(call)
            headers["Set-Cookie"] = f"{COOKIE}={token}; Path=/; HttpOnly; Secure"
            body = soap.reply(method, self._session())
        elif method == "Logout":
            self._sessions.discard(session)
            body = soap.reply(method, None)
        elif method in self._methods:
            body = soap.reply(method, self._methods[method](call))
        elif method in self._written:
            body = soap.written_reply(method, self._written[method](call))
        else:
            raise soap.FaultRaised(vmodl.fault.NotSupported(msg=f"{method} is not simulated."))
        return Answer(200, headers, body)

    def _login(self, call: Element) -> str:
        user, password = (call.findtext(f"{_NS}{name}", "") for name in ("userName", "password"))
        if user != VCENTER_USER or not compare_digest(password.encode(), self._password.encode()):
            text = "Cannot complete login due to an incorrect user name or password."
            raise soap.FaultRaised(vim.fault.InvalidLogin(msg=text))
        token = secrets.token_hex(20)
        self._sessions.add(token)
        return token

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._simulation.epoch_seconds + self._simulation.now, UTC)

    def _session(self) -> Any:
        now = self._now()
        user = {"userName": VCENTER_USER, "fullName": "sanpath", "locale": "en", "messageLocale": "en"}
        return vim.UserSession(key="52-1", loginTime=now, lastActiveTime=now, **user)

    def _content(self) -> Any:
        return vim.ServiceInstanceContent(
            about=inventory.about("VMware vCenter Server", "linux-x64", "vpx", "VirtualCenter"),
            rootFolder=vim.Folder("group-d1", None),
            propertyCollector=vmodl.query.PropertyCollector("propertyCollector", None),
            viewManager=vim.view.ViewManager("ViewManager", None),
            sessionManager=vim.SessionManager("SessionManager", None),
            perfManager=vim.PerformanceManager("PerfMgr", None),
            authorizationManager=vim.AuthorizationManager("AuthorizationManager", None),
        )

    def _objects(self) -> dict[tuple[str, str], inventory.Properties]:
        return {
            **inventory.objects(self._simulation, self._vcenter),
            ("PerformanceManager", "PerfMgr"): {"perfCounter": self._catalogue},
            ("SessionManager", "SessionManager"): {"currentSession": self._session()},
        }

    def _properties(self, call: Element) -> Any:
        collector = vmodl.query.PropertyCollector
        wanted = {
            spec.findtext(f"{_NS}type", ""): [path.text or "" for path in spec.iter(f"{_NS}pathSet")]
            for spec in call.iter(f"{_NS}propSet")
        }
        named = {element.text for element in call.iter(f"{_NS}obj")}
        objects = [
            collector.ObjectContent(
                obj=soap.reference(kind, moid),
                propSet=[
                    vmodl.DynamicProperty(name=path, val=soap.typed(kind, path, values[path]))
                    for path in wanted[kind]
                    if path in values
                ],
            )
            for (kind, moid), values in self._objects().items()
            if kind in wanted and (moid in named or _VIEW in named)
        ]
        return collector.RetrieveResult(objects=objects) if objects else None

    def _privileges(self, call: Element) -> Any:
        manager = vim.AuthorizationManager
        granted = [
            manager.PrivilegeAvailability(privId=element.text, isGranted=True)
            for element in call.iter(f"{_NS}privId")
        ]
        return [manager.EntityPrivilege(entity=vim.Folder("group-d1", None), privAvailability=granted)]

    def _available(self, call: Element) -> Any:
        moid = call.findtext(f"{_NS}entity", "")
        values = performance.series(self._simulation.scenario, moid)
        metric = vim.PerformanceManager.MetricId
        return [metric(counterId=performance.KEYS[name], instance=instance) for name, instance, _ in values]

    def _query(self, call: Element) -> Any:
        return [self._query_metrics(spec) for spec in call.findall(f"{_NS}querySpec")]

    def _query_metrics(self, spec: Element) -> Any:
        entity = spec.find(f"{_NS}entity")
        asked = {int(element.text) for element in spec.iter(f"{_NS}counterId")}
        last = int(spec.findtext(f"{_NS}maxSample", "0"))
        samples: list[Sample] = list(self._hypervisor.samples)[-last:]
        reference = soap.reference(entity.get("type"), entity.text)
        return performance.answer(self._simulation.scenario, reference, asked, samples)

    def _esxcli(self, call: Element) -> str:
        rows = esxcli.answer(self._simulation.scenario, call.findtext(f"{_NS}method", ""))
        if rows is None:
            values = "<fault><faultMsg>The object or item referred to could not be found.</faultMsg></fault>"
        else:
            values = f"<response>{escape(rows)}</response>"
        return f"<returnval>{values}</returnval>"


_EXECUTER = '<returnval type="ReflectManagedMethodExecuter">ManagedMethodExecuter-1</returnval>'
