"""SOAP calls of vSphere: pyVmomi writes the requests and reads the replies, `ctx.http` transports them.

The connection of pyVmomi is not used. It does not verify the certificate of 127.0.0.1 and localhost, its pin accepts
other certificates, and its time-out is for a read of the socket, not for a call.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from xml.etree.ElementTree import ParseError
from xml.parsers.expat import ExpatError

from sanpath.plugin import CollectorError, Failure, Http
from sanpath_collectors.vsphere.connection import vmomi

_COOKIE = "vmware_soap_session"
_REPLY_STATUS = frozenset({200, 500})  # a fault comes as 500 (SOAP 1.1, section 6.2)
_BUSY_STATUS = frozenset({429, 502, 503, 504})
_EXCERPT_BYTES = 300
_READ_ERRORS = (ExpatError, ParseError, LookupError, TypeError, AttributeError, ValueError)
"""Errors of a reply that cannot be read."""

Read = Callable[[bytes], Any]
"""Reads a reply without pyVmomi, which takes four times as long."""


class FaultError(CollectorError):
    """The server replied with a fault. `name`: of the fault in the API, such as NotSupported; `text`: its message."""

    def __init__(self, call: str, name: str, text: str, failure: Failure = Failure.UNREADABLE) -> None:
        super().__init__(failure, f"{call}: {name}{f': {text}' if text else ''}")
        self.name, self.text = name, text


class NotAllowedError(FaultError):
    """The account lacks `privilege` for a call."""

    def __init__(self, call: str, privilege: str) -> None:
        super().__init__(call, "NoPermission", f"it needs the privilege {privilege}", Failure.REFUSED)


class Endpoint:
    """A SOAP service of a server. `cookie`: of the session, "" without one; services can share it."""

    def __init__(self, http: Http, path: str, version: str, cookie: str = "") -> None:
        self._http, self._path = http, path
        self.version, self.cookie = version, cookie

    def reference(self, kind: str, moid: str) -> Any:
        """Return a reference to a managed object by the name of its type and its id."""
        return vmomi.kind(kind)(moid, vmomi.stub(self.version))

    async def call(self, this: Any, method: str, *arguments: Any, read: Read | None = None) -> Any:
        """Return the result of a method: data objects of pyVmomi, or the result of `read`. Raises CollectorError."""
        info = vmomi.method(method)
        try:
            body: bytes = vmomi.stub(self.version).SerializeRequest(this, info, arguments)
        except vmomi.kind("MethodNotFound") as error:
            raise FaultError(method, "MethodNotFound", f"not in {self.version}") from error
        status, answer = await self._post(method, body)
        result = read_reply(self.version, method, answer, read if status == 200 else None)
        if status != 200 or isinstance(result, Exception):
            raise _failure(method, result)
        return result

    async def _post(self, method: str, body: bytes) -> tuple[int, bytes]:
        action = f'"{vmomi.stub(self.version).versionId}"'
        headers = {"content-type": "text/xml; charset=utf-8", "soapaction": action}
        if self.cookie:
            headers["cookie"] = self.cookie
        reply = await self._http.request("POST", self._path, None, headers, body)
        if set_cookie := reply.headers.get("set-cookie"):
            self.cookie = _session_cookie(set_cookie) or self.cookie
        if reply.status in _BUSY_STATUS:
            raise CollectorError(Failure.UNREACHABLE, f"{method}: HTTP {reply.status}")
        if reply.status not in _REPLY_STATUS:
            raise CollectorError(Failure.UNREADABLE, f"{method}: HTTP {reply.status}", excerpt(reply.body))
        return reply.status, reply.body


def read_reply(version: str, method: str, body: bytes, read: Read | None = None) -> Any:
    """Read the reply to a method: data objects of pyVmomi, a fault, or the result of `read`.

    Raises CollectorError for a reply that cannot be read, and for one with a document type, which a SOAP message does
    not have (SOAP 1.1, section 3). UTF-16 is refused as well: a document type would not be detected in it.
    """
    try:
        if b"<!DOCTYPE" in body or b"\0" in body:
            raise ValueError("a document type, or not UTF-8")
        return read(body) if read is not None else vmomi.read(version, vmomi.method(method), body)
    except vmomi.WrongTypeError as error:
        raise CollectorError(Failure.UNREADABLE, f"{method}: the answer is wrong: {error}", excerpt(body)) from error
    except _READ_ERRORS as error:
        message = f"{method}: the answer is not valid"
        raise CollectorError(Failure.UNREADABLE, message, excerpt(body)) from error


def excerpt(body: bytes) -> str:
    """Return the beginning of a reply that cannot be read, without the key of a session."""
    return re.sub(r"<key>[^<]*</key>", "<key/>", body[:_EXCERPT_BYTES].decode("utf-8", "replace"))


def name_of(fault: object) -> str:
    """Return the type of a fault by its name in the API.

    >>> name_of(vmomi.make("InvalidLogin"))
    'InvalidLogin'
    """
    return str(getattr(fault, "_wsdlName", None) or type(fault).__name__)


def _failure(method: str, fault: Any) -> CollectorError:
    name, text = name_of(fault), " ".join(str(getattr(fault, "msg", "") or "").split())
    if name == "NoPermission":
        return NotAllowedError(method, str(getattr(fault, "privilegeId", None) or "?"))
    return FaultError(method, name, text, Failure.REFUSED if name == "InvalidLogin" else Failure.UNREADABLE)


def _session_cookie(header: str) -> str:
    try:
        morsel = SimpleCookie(header).get(_COOKIE)
    except CookieError:
        return ""
    return f"{_COOKIE}={morsel.coded_value}" if morsel is not None else ""
