"""vSphere's SOAP calls: pyVmomi writes the requests and reads the replies, `ctx.http` carries them.

pyVmomi's own connection is not used: it does not verify the certificate of 127.0.0.1 and localhost, its pin lets
other certificates through, and its time-out is for a read of the socket, not for a call.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from xml.etree.ElementTree import ParseError
from xml.parsers.expat import ExpatError

from sanpath.plugin import CollectorError, Failure, Http
from sanpath_collectors.vsphere import vmomi

_COOKIE = "vmware_soap_session"
_ANSWERED = frozenset({200, 500})  # a fault comes as 500 (SOAP 1.1, section 6.2)
_BUSY = frozenset({429, 502, 503, 504})
_EXCERPT = 300
_NONSENSE = (ExpatError, ParseError, LookupError, TypeError, AttributeError, ValueError)
"""What comes of an answer that cannot be read."""

Read = Callable[[bytes], Any]
"""Makes something of a reply without pyVmomi, which takes four times as long."""


class FaultError(CollectorError):
    """The server answered with a fault. `name`: as the API calls it, NotSupported; `text`: what it says."""

    def __init__(self, called: str, name: str, text: str, failure: Failure = Failure.UNREADABLE) -> None:
        super().__init__(failure, f"{called}: {name}{f': {text}' if text else ''}")
        self.name, self.text = name, text


class NotAllowedError(FaultError):
    """The account lacks `privilege` for it."""

    def __init__(self, called: str, privilege: str) -> None:
        super().__init__(called, "NoPermission", f"it needs the privilege {privilege}", Failure.REFUSED)
        self.privilege = privilege


class Endpoint:
    """One SOAP service of a server. `cookie`: of the session, "" while there is none; services can share it."""

    def __init__(self, http: Http, path: str, version: str, cookie: str = "") -> None:
        self._http, self._path = http, path
        self.version, self.cookie = version, cookie

    def reference(self, kind: str, moid: str) -> Any:
        """A managed object by the name of its type and its id."""
        return vmomi.kind(kind)(moid, vmomi.stub(self.version))

    async def call(self, this: Any, method: str, *arguments: Any, read: Read | None = None) -> Any:
        """What a method returns: pyVmomi's data objects, or what `read` makes of the reply. Raises CollectorError."""
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
        if reply.status in _BUSY:
            raise CollectorError(Failure.UNREACHABLE, f"{method}: HTTP {reply.status}")
        if reply.status not in _ANSWERED:
            raise CollectorError(Failure.UNREADABLE, f"{method}: HTTP {reply.status}", excerpt(reply.body))
        return reply.status, reply.body


def read_reply(version: str, method: str, body: bytes, read: Read | None = None) -> Any:
    """What a reply to a method says: pyVmomi's data objects, its fault, or what `read` makes of it.

    Raises CollectorError for what makes no sense, and for a document type, which no SOAP message has (SOAP 1.1,
    section 3); in UTF-16, which nobody sends, none would be seen.
    """
    try:
        if b"<!DOCTYPE" in body or b"\0" in body:
            raise ValueError("a document type, or not UTF-8")
        return read(body) if read is not None else vmomi.read(version, vmomi.method(method), body)
    except vmomi.WrongTypeError as error:
        raise CollectorError(Failure.UNREADABLE, f"{method}: the answer is wrong: {error}", excerpt(body)) from error
    except _NONSENSE as error:
        message = f"{method}: the answer makes no sense"
        raise CollectorError(Failure.UNREADABLE, message, excerpt(body)) from error


def excerpt(body: bytes) -> str:
    """The begin of an answer that cannot be read, without a session's key."""
    return re.sub(r"<key>[^<]*</key>", "<key/>", body[:_EXCERPT].decode("utf-8", "replace"))


def name_of(fault: object) -> str:
    """A fault's type as the API documents it.

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
