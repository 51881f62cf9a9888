"""A session of Fabric OS' REST interface: login, logout, and the meaning of its status codes. Otherwise only GET."""

from __future__ import annotations

import base64
from contextlib import suppress

from sanpath.plugin import BusyError, CollectorError, Failure, Http, HttpReply, SecretStr, excerpt, wait_seconds
from sanpath_collectors.brocade_rest import parse

_JSON = {"accept": "application/yang-data+json"}
_CLOSED = frozenset({400, 403, 404, 405, 406})
"""Status of a request that this login or release does not allow."""
_BUSY = frozenset({429, 500, 502, 503, 504})
"""Status of a request that may succeed later."""


class ClosedError(CollectorError):
    """This login or release cannot read the container; others may be readable."""


class Rest:
    """One session with one switch. It is kept open, because a switch admits only a few."""

    def __init__(self, http: Http, user: str, password: SecretStr, virtual_fabric: int | None) -> None:
        self._http, self._user, self._password = http, user, password
        self._parameters = {} if virtual_fabric is None else {"vf-id": str(virtual_fabric)}
        self._session = ""
        self.awaits_login = False
        """Whether a login was not answered: the switch may have opened a session, which nobody can end."""

    async def login(self) -> None:
        """Log in. Raises CollectorError: REFUSED for a wrong password, BusyError if no session is free."""
        pair = f"{self._user}:{self._password.get_secret_value()}".encode()
        headers = {**_JSON, "authorization": f"Custom_Basic {base64.b64encode(pair).decode()}"}
        self.awaits_login = True
        try:
            reply = await self._http.request("POST", "/rest/login", headers=headers)
        except CollectorError as error:
            # Without a connection there is another cause.
            self.awaits_login = isinstance(error.__cause__, TimeoutError)
            raise
        self.awaits_login = False
        message = self._message(reply, "login")
        if reply.status in _BUSY or "session" in message.lower():
            raise BusyError(message, wait_seconds(reply))
        if reply.status in (401, 403):
            raise CollectorError(Failure.REFUSED, f"the switch does not accept user and password: {message}")
        if reply.status == 404:
            raise CollectorError(Failure.MISCONFIGURED, f"{message}: REST needs Fabric OS 8.2, and to be switched on")
        token = reply.headers.get("authorization", "")
        if reply.status != 200 or not token:
            raise CollectorError(
                Failure.UNREADABLE, f"{message}, without a session: is this Fabric OS?", excerpt(reply.body)
            )
        self._session = token

    async def read(self, container: str) -> list[parse.Entry]:
        """Return the objects of a container, "module/name"; none if the switch has none.

        A session that the switch has ended is renewed once. Raises CollectorError: ClosedError, BusyError.
        """
        reply = await self._get(container)
        if reply.status == 401:
            await self.login()
            reply = await self._get(container)
        message = self._message(reply, container)
        if reply.status == 204:
            return []
        if reply.status == 401:
            raise CollectorError(Failure.REFUSED, f"{message} (again after a new login)")
        if reply.status in _BUSY:
            raise BusyError(message, wait_seconds(reply))
        if reply.status == 400 and self._parameters and "vf" in message.lower():
            raise CollectorError(Failure.MISCONFIGURED, f"{message}: virtual_fabric does not fit this switch")
        if reply.status in _CLOSED:
            raise ClosedError(Failure.REFUSED, message)
        if reply.status != 200:
            raise CollectorError(Failure.UNREADABLE, message, excerpt(reply.body))
        return parse.entries(reply.body, container.rpartition("/")[2])

    async def logout(self) -> None:
        """End the session. A failure has no consequence: the switch drops idle sessions."""
        session, self._session = self._session, ""
        if session:
            with suppress(CollectorError):
                await self._http.request("POST", "/rest/logout", headers={**_JSON, "authorization": session})

    async def _get(self, container: str) -> HttpReply:
        headers = {**_JSON, "authorization": self._session}
        return await self._http.request("GET", f"/rest/running/{container}", self._parameters, headers)

    def _message(self, reply: HttpReply, request: str) -> str:
        message = f"{request}: HTTP {reply.status} {parse.error_messages(reply.body)}".rstrip()
        return message.replace(self._password.get_secret_value(), "***")
