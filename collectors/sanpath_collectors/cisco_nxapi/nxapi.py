"""NX-API as JSON-RPC over HTTPS: several show commands per request, and the meaning of its status codes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence

from sanpath.plugin import BusyError, CollectorError, Failure, Http, HttpReply, SecretStr, wait_seconds
from sanpath_collectors.cisco_nxapi import parse

_PATH = "/ins"
_BUSY = frozenset({429, 502, 503, 504})
_COOKIE = re.compile(r"(nxapi_auth=[^;\s]+)")


class Nxapi:
    """One switch. The first request sends the password, later ones the cookie, which saves the switch a login."""

    def __init__(self, http: Http, user: str, password: SecretStr) -> None:
        self._http, self._user, self._password = http, user, password
        self._cookie = ""

    async def show(self, commands: Sequence[str]) -> list[parse.Output]:
        """Return the answers to commands that begin with "show". Raises CollectorError; BusyError.

        An answer may say that its command was refused, while the others were not.
        """
        if not all(command.startswith("show ") for command in commands):
            raise ValueError(f"reads only: {commands}")
        calls = [
            {"jsonrpc": "2.0", "method": "cli", "params": {"cmd": command, "version": 1}, "id": number}
            for number, command in enumerate(commands, start=1)
        ]
        body = json.dumps(calls).encode()
        reply = await self._request(body)
        if reply.status == 401 and self._cookie:
            self._cookie = ""
            reply = await self._request(body)
        message = f"{commands[0]}: HTTP {reply.status}"
        if reply.status in (401, 403):
            raise CollectorError(Failure.REFUSED, f"the switch does not accept user and password: {message}")
        if reply.status in _BUSY:
            raise BusyError(message, wait_seconds(reply))
        if reply.status == 404:
            raise CollectorError(Failure.MISCONFIGURED, f"{message}: `feature nxapi` is not switched on at this port")
        if cookie := _COOKIE.search(reply.headers.get("set-cookie", "")):
            self._cookie = cookie[1]
        # An answer with a refused command has status 500 in some releases, and 200 in others.
        try:
            return parse.answers(reply.body, commands)
        except CollectorError as error:
            if reply.status == 500:
                raise BusyError(message, wait_seconds(reply)) from error
            raise

    async def _request(self, body: bytes) -> HttpReply:
        headers = {"content-type": "application/json-rpc"}
        if self._cookie:
            headers["cookie"] = self._cookie
        else:
            pair = f"{self._user}:{self._password.get_secret_value()}".encode()
            headers["authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        return await self._http.request("POST", _PATH, headers=headers, body=body)
