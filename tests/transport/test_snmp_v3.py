"""SNMPv3 users against a real net-snmp agent: who gets in, and what is said to whom who does not."""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from pydantic import SecretStr

from sanpath.plugin import CollectorError, Cost, Failure, SnmpCredentials, SnmpUser, SnmpValue
from sanpath.transport.live_context import LiveContext
from tests.transport.snmpd import running

SYS_NAME = "1.3.6.1.2.1.1.5.0"
IF_DESCR = "1.3.6.1.2.1.2.2.1.2"
AUTH, PRIVACY = "authpass123456", "privpass123456"
USERS = f"""
createUser plain SHA-256 "{AUTH}" AES "{PRIVACY}"
createUser long SHA-512 "{AUTH}" AES-256 "{PRIVACY}"
createUser blumenthal SHA "{AUTH}" AES-256 "{PRIVACY}"
createUser reeder SHA "{AUTH}" AES-256-C "{PRIVACY}"
createUser open SHA-256 "{AUTH}"
createUser outside SHA-256 "{AUTH}" AES "{PRIVACY}"
rouser plain authPriv .1
rouser long authPriv .1
rouser blumenthal authPriv .1
rouser reeder authPriv .1
rouser open authNoPriv .1
rocommunity public 127.0.0.1
sysName lab-switch
"""


class WallClock:
    def now_us(self) -> int:
        return time.time_ns() // 1000


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with running(tmp_path_factory.mktemp("snmpd"), USERS) as port:
        yield port


def user(name: str = "plain", auth: str = AUTH, privacy: str = PRIVACY, **more: str) -> SnmpUser:
    return SnmpUser(name, SecretStr(auth), SecretStr(privacy), **more)  # type: ignore[arg-type]


async def _name(port: int, who: SnmpUser | None, cost: Cost, timeout_seconds: float) -> SnmpValue:
    community = SecretStr("public") if who is None else None
    asked = SnmpCredentials("127.0.0.1", port, community, timeout_seconds, retries=1, user=who)
    session = LiveContext(WallClock(), cost).snmp(asked)
    try:
        return (await session.get([SYS_NAME]))[SYS_NAME]
    finally:
        await session.close()


def name(port: int, who: SnmpUser, timeout_seconds: float = 5.0) -> SnmpValue:
    return asyncio.run(_name(port, who, Cost(), timeout_seconds))


def refused(port: int, who: SnmpUser) -> CollectorError:
    with pytest.raises(CollectorError) as caught:
        name(port, who, timeout_seconds=0.3)
    reported = str(caught.value)
    assert "wrongwrong" not in reported
    assert AUTH not in reported
    assert PRIVACY not in reported
    return caught.value


@pytest.mark.parametrize(
    "who",
    [
        pytest.param(user(), id="sha256-aes128"),
        pytest.param(user("long", auth_protocol="sha512", privacy_protocol="aes256"), id="sha512-aes256"),
        pytest.param(
            user("long", auth_protocol="sha512", privacy_protocol="aes256", key_extension="reeder"),
            id="sha512-aes256-whose-key-needs-no-extension",
        ),
        pytest.param(user("blumenthal", auth_protocol="sha1", privacy_protocol="aes256"), id="sha1-aes256"),
        pytest.param(
            user("reeder", auth_protocol="sha1", privacy_protocol="aes256", key_extension="reeder"),
            id="sha1-aes256-reeder",
        ),
    ],
)
def test_a_user_of_the_agent_gets_in(agent: int, who: SnmpUser) -> None:
    assert name(agent, who) == b"lab-switch"


def test_authentication_alone_needs_nothing_that_encrypts(agent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    who = SnmpUser("open", SecretStr(AUTH))
    assert name(agent, who) == b"lab-switch"
    assert "wrong auth_password" in str(refused(agent, replace(who, auth_password=SecretStr("wrongwrong"))))
    assert "no context 'vf128'" in str(refused(agent, replace(who, context="vf128")))
    with pytest.raises(CollectorError, match=r"pip install 'sanpath\[snmpv3\]'") as caught:
        name(agent, user())
    assert caught.value.failure is Failure.MISCONFIGURED


def test_a_user_who_must_encrypt_is_told_so(agent: int) -> None:
    error = refused(agent, SnmpUser("plain", SecretStr(AUTH)))
    assert error.failure is Failure.REFUSED
    assert str(error).endswith("authorizationError at 1.3.6.1.2.1.1.5.0")


def test_a_table_walk_is_encrypted_too(agent: int) -> None:
    async def run() -> tuple[dict[str, dict[str, SnmpValue]], Cost]:
        cost = Cost()
        session = LiveContext(WallClock(), cost).snmp(SnmpCredentials("127.0.0.1", agent, user=user()))
        try:
            return await session.columns([IF_DESCR]), cost
        finally:
            await session.close()

    rows, cost = asyncio.run(run())
    assert b"lo" in [row[IF_DESCR] for row in rows.values()]
    assert cost.bytes_in > 0


def test_an_unknown_user_is_refused_by_name(agent: int) -> None:
    error = refused(agent, user("nobody"))
    assert error.failure is Failure.REFUSED
    assert "has no SNMPv3 user 'nobody'" in str(error)


def test_a_wrong_authentication_password_is_refused_as_such(agent: int) -> None:
    error = refused(agent, user(auth="wrongwrong"))
    assert error.failure is Failure.REFUSED
    assert "wrong auth_password, or not sha256" in str(error)


def test_a_wrong_privacy_password_is_refused_although_the_agent_stays_silent(agent: int) -> None:
    error = refused(agent, user(privacy="wrongwrong"))
    assert error.failure is Failure.REFUSED
    assert "wrong privacy_password or not privacy_protocol aes128" in str(error)
    assert "auth_password" not in str(error)


def test_the_other_key_extension_is_named_where_it_matters(agent: int) -> None:
    error = refused(
        agent, user("blumenthal", auth_protocol="sha1", privacy_protocol="aes256", key_extension="reeder")
    )
    assert error.failure is Failure.REFUSED
    assert "not key_extension reeder" in str(error)
    assert "key_extension" not in str(refused(agent, user(privacy="wrongwrong")))


def test_a_context_that_the_agent_has_not_is_named(agent: int) -> None:
    assert "no context 'vf128'" in str(refused(agent, user(context="vf128")))


def test_a_user_without_a_view_is_refused(agent: int) -> None:
    error = refused(agent, user("outside"))
    assert error.failure is Failure.REFUSED
    assert "authorizationError" in str(error)


def test_namesakes_with_different_passwords_do_not_disturb_each_other(agent: int) -> None:
    async def run() -> list[object]:
        asked = [user(), user(auth="wrongwrong"), None, user()]
        return await asyncio.gather(*(_name(agent, who, Cost(), 5.0) for who in asked), return_exceptions=True)

    first, wrong, by_community, last = asyncio.run(run())
    assert (first, by_community, last) == (b"lab-switch",) * 3
    assert isinstance(wrong, CollectorError)
    assert wrong.failure is Failure.REFUSED


def test_silence_from_the_start_is_unreachable_and_tells_of_the_variants_of_aes() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        who = user(auth_protocol="sha1", privacy_protocol="aes256")
        with pytest.raises(CollectorError, match="key_extension blumenthal") as caught:
            name(silent.getsockname()[1], who, timeout_seconds=0.2)
    assert caught.value.failure is Failure.UNREACHABLE


def test_an_agent_that_goes_away_is_unreachable_and_not_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Silence of an agent that has answered before is not taken for a wrong password, nor after a new log-in."""

    async def run() -> list[Failure]:
        failures = []
        with running(tmp_path_factory.mktemp("other"), USERS) as other:
            # Another switch with the same user keeps the engine, and what it knows, alive.
            kept = LiveContext(WallClock(), Cost()).snmp(SnmpCredentials("127.0.0.1", other, user=user()))
            await kept.get([SYS_NAME])
            with running(tmp_path_factory.mktemp("leaving"), USERS) as port:
                asked = SnmpCredentials("127.0.0.1", port, timeout_seconds=2.0, retries=0, user=user())
                session = LiveContext(WallClock(), Cost()).snmp(asked)
                await session.get([SYS_NAME])
            for _ in range(2):
                try:
                    await session.get([SYS_NAME])
                except CollectorError as error:
                    failures.append(error.failure)
                await session.close()
            await kept.close()
        return failures

    assert asyncio.run(run()) == [Failure.UNREACHABLE, Failure.UNREACHABLE]


def test_credentials_name_exactly_one_way_in() -> None:
    for wrong in (SnmpCredentials("127.0.0.1", 9), SnmpCredentials("127.0.0.1", 9, SecretStr("public"), user=user())):
        with pytest.raises(ValueError, match="either"):
            asyncio.run(LiveContext(WallClock(), Cost()).snmp(wrong).get([SYS_NAME]))
