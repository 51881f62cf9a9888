"""The vendor's REST 1 SDK, whose requests go through sanpath's own HTTPS client.

The SDK (purestorage 1.19.0, its last) does not verify certificates unless told to, waits for ever, follows redirects
and drops its session whenever an answer comes without a cookie. Here it keeps what it knows of the interface:
versions, login, renewal of the session, and which call is which resource. What is sent is verified, ends in time, and
is booked to the source.
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
_OTHER_VERSION = 450  # the array no longer speaks the version that was agreed on


class Sender:
    """Sends the SDK's requests on the event loop, while the SDK waits in a thread. Keeps the session's cookie."""

    def __init__(self, http: Http, loop: asyncio.AbstractEventLoop) -> None:
        self._http, self._loop = http, loop
        self._cookies: dict[str, str] = {}

    def send(self, method: Literal["GET", "POST", "DELETE"], path: str, data: Mapping[str, Any] | None) -> HttpReply:
        """One request, from a thread that is not the loop's. Parameters of a GET go into its query."""
        params = {key: _written(value) for key, value in (data or {}).items()} if method == "GET" else None
        body = None if method == "GET" or data is None else json.dumps(data).encode()
        headers = {"Content-Type": "application/json"}
        if self._cookies:
            headers["Cookie"] = "; ".join(f"{key}={value}" for key, value in self._cookies.items())
        request = self._http.request(method, path, params or None, headers, body)
        reply = asyncio.run_coroutine_threadsafe(request, self._loop).result()
        self._cookies |= {key: morsel.value for key, morsel in SimpleCookie(reply.headers.get("set-cookie")).items()}
        return reply


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class _SentByUs:
    """Replaces the SDK's one method that sends."""

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
        """What the array answers. Raises CollectorError."""
        target = urlsplit(path).path if path.startswith("http") else f"/api/{self._rest_version}/{path}"
        reply = self._sender.send(method, target, data)
        if reply.status == 401 and reestablish_session:
            self._start_session()
            return self._request(method, path, data, reestablish_session=False)
        if reply.status == _OTHER_VERSION and self._renegotiate_rest_version:
            before, self._rest_version = self._rest_version, self._choose_rest_version()
            if str(before) != str(self._rest_version):
                return self._request(method, path, data, reestablish_session)
        if path == _LOGIN and method == "POST":
            raise_if_refused(reply, SecretStr(self._api_token))
        raise_unless_ok(reply, target.rpartition("/api/")[2])
        return parse.answer(reply.body, path)


class Array:
    """The SDK's FlashArray; its calls block and run in a thread each."""

    def __init__(self, sdk_array: Any) -> None:
        self._array = sdk_array

    @classmethod
    async def login(cls, http: Http, host: str, api_token: SecretStr) -> Array:
        """Agree on a version and log in. Raises CollectorError."""
        sender = Sender(http, asyncio.get_running_loop())
        return cls(await _in_thread(lambda: _flash_array(sender, host, api_token)))

    @property
    def version(self) -> tuple[int, int]:
        """The version of REST 1 that was agreed on."""
        major, _, minor = str(self._array.get_rest_version()).partition(".")
        return int(major), int(minor)

    async def ask(self, call: str, **parameters: object) -> Any:
        """What one of the SDK's calls returns. Raises CollectorError."""
        return await _in_thread(lambda: getattr(self._array, call)(**parameters))


async def _in_thread(work: Callable[[], T]) -> T:
    """Run what blocks. Raises CollectorError, also for the SDK's own errors."""
    sdk = await asyncio.to_thread(_sdk)

    def quietly() -> T:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # it compares versions by distutils
            return work()

    try:
        return await asyncio.to_thread(quietly)
    except (sdk.PureError, ValueError) as error:
        said = "the array offers no version of REST 1 that the SDK knows: use the collector flasharray"
        raise CollectorError(Failure.MISCONFIGURED, said) from error
    except (AttributeError, KeyError, TypeError) as error:
        raise CollectorError(
            Failure.UNREADABLE, "an answer without what it must hold: is this a FlashArray?"
        ) from error


def _flash_array(sender: Sender, host: str, api_token: SecretStr) -> Any:
    """The SDK's object, logged in."""
    made = type("FlashArray", (_SentByUs, _sdk().FlashArray), {"_sender": sender})
    return made(host, api_token=api_token.get_secret_value())


@cache
def _sdk() -> Any:
    """The module purestorage. Raises MISCONFIGURED when it, or what it needs, is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it was written for Python 2
            try:
                import_module("distutils.version")
            except ModuleNotFoundError:
                import_module("setuptools")  # brings back distutils, which Python 3.12 left out
            return import_module("purestorage")
    except ModuleNotFoundError as missing:
        raise CollectorError(
            Failure.MISCONFIGURED,
            f"REST 1 needs the Python package {missing.name}: pip install purestorage setuptools",
        ) from missing
