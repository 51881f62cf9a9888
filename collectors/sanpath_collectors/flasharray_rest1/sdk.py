"""The vendor's REST 1 SDK, with its requests sent by sanpath's HTTPS client.

The SDK (purestorage 1.19.0, its last version) does not verify certificates by default, has no timeout, follows
redirects, and drops its session whenever an answer has no cookie. Only its knowledge of the interface is used:
versions, login, renewal of the session, and the resource of each call. Requests are sent with verified certificates
and a timeout, and count as the source's cost.
"""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from http.cookies import SimpleCookie
from importlib import import_module
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from sanpath.plugin import CollectorError, Failure, Http, HttpReply, SecretStr
from sanpath_collectors.flasharray.rest import raise_if_refused, raise_unless_ok
from sanpath_collectors.flasharray_rest1 import parse

T = TypeVar("T")

_LOGIN = "auth/session"
_VERSION_CHANGED = 450  # the array no longer supports the agreed version


class Sender:
    """Sends the SDK's requests on the event loop, while the SDK waits in a thread. Stores the session's cookies."""

    def __init__(self, http: Http, loop: asyncio.AbstractEventLoop) -> None:
        self._http, self._loop = http, loop
        self._cookies: dict[str, str] = {}

    def send(self, method: Literal["GET", "POST", "DELETE"], path: str, data: Mapping[str, Any] | None) -> HttpReply:
        """Send a request from a thread other than the loop's. `data` of a GET becomes its query."""
        params = {key: _query_text(value) for key, value in (data or {}).items()} if method == "GET" else None
        body = None if method == "GET" or data is None else json.dumps(data).encode()
        headers = {"Content-Type": "application/json"}
        if self._cookies:
            headers["Cookie"] = "; ".join(f"{key}={value}" for key, value in self._cookies.items())
        request = self._http.request(method, path, params or None, headers, body)
        reply = asyncio.run_coroutine_threadsafe(request, self._loop).result()
        self._cookies |= {key: morsel.value for key, morsel in SimpleCookie(reply.headers.get("set-cookie")).items()}
        return reply


def _query_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class _RequestOverride:
    """Overrides the only method of the SDK that sends requests."""

    _sender: Sender
    _api_token: str
    _rest_version: object
    _renegotiate_rest_version: bool
    _choose_rest_version: Callable[[], object]
    _start_session: Callable[[], None]

    def _request(
        self,
        method: Literal["GET", "POST", "DELETE"],
        path: str,
        data: Mapping[str, Any] | None = None,
        reestablish_session: bool = True,
    ) -> Any:
        """Return the array's answer. Raises CollectorError."""
        target = urlsplit(path).path if path.startswith("http") else f"/api/{self._rest_version}/{path}"
        reply = self._sender.send(method, target, data)
        if reply.status == 401 and reestablish_session:
            self._start_session()
            return self._request(method, path, data, reestablish_session=False)
        if reply.status == _VERSION_CHANGED and self._renegotiate_rest_version:
            previous, self._rest_version = self._rest_version, self._choose_rest_version()
            if str(previous) != str(self._rest_version):
                return self._request(method, path, data, reestablish_session)
        if path == _LOGIN and method == "POST":
            raise_if_refused(reply, SecretStr(self._api_token))
        raise_unless_ok(reply, target.rpartition("/api/")[2])
        return parse.answer(reply.body, path)


class Array:
    """The SDK's FlashArray. Its calls block, so each runs in a thread."""

    def __init__(self, sdk_array: Any) -> None:
        self._array = sdk_array

    @classmethod
    async def login(cls, http: Http, host: str, api_token: SecretStr) -> Array:
        """Agree on a version and log in. Raises CollectorError."""
        sender = Sender(http, asyncio.get_running_loop())
        return cls(await _run_in_thread(lambda: _flash_array(sender, host, api_token)))

    @property
    def version(self) -> tuple[int, int]:
        """The agreed version of REST 1."""
        major, _, minor = str(self._array.get_rest_version()).partition(".")
        return int(major), int(minor)

    async def ask(self, call: str, **parameters: object) -> Any:
        """Run a call of the SDK and return its result. Raises CollectorError."""
        return await _run_in_thread(lambda: getattr(self._array, call)(**parameters))


async def _run_in_thread(work: Callable[[], T]) -> T:
    """Run blocking work in a thread. Raises CollectorError, also for errors of the SDK."""
    sdk = await asyncio.to_thread(_sdk)

    def quietly() -> T:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # it compares versions with distutils
            return work()

    try:
        return await asyncio.to_thread(quietly)
    except (sdk.PureError, ValueError) as error:
        reason = "the array offers no version of REST 1 that the SDK knows: use the collector flasharray"
        raise CollectorError(Failure.MISCONFIGURED, reason) from error
    except (AttributeError, KeyError, TypeError) as error:
        raise CollectorError(Failure.UNREADABLE, "an answer lacks required fields: is this a FlashArray?") from error


def _flash_array(sender: Sender, host: str, api_token: SecretStr) -> Any:
    """The SDK's object after its login."""
    array_class = type("FlashArray", (_RequestOverride, _sdk().FlashArray), {"_sender": sender})
    return array_class(host, api_token=api_token.get_secret_value())


@cache
def _sdk() -> Any:
    """The module purestorage. Raises MISCONFIGURED if it or its dependency is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it was written for Python 2
            try:
                import_module("distutils.version")
            except ModuleNotFoundError:
                import_module("setuptools")  # provides distutils, which Python 3.12 removed
            return import_module("purestorage")
    except ModuleNotFoundError as missing:
        raise CollectorError(
            Failure.MISCONFIGURED,
            f"REST 1 needs the Python package {missing.name}: pip install 'sanpath[flasharray-rest1]'",
        ) from missing
