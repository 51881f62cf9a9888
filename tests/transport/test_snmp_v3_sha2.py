"""SNMPv3 by SHA-2 and AES against a real net-snmp agent: all pairs get in, and no altered answer is believed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from itertools import product

import pytest
from pydantic import SecretStr

from sanpath.plugin import CollectorError, Cost, Failure, Snmp, SnmpCredentials, SnmpUser
from sanpath.transport.live_context import LiveContext
from tests.faults.altering import AlteringProxy, unaltered
from tests.faults.proxies import LOOPBACK, Address, standing_for
from tests.transport.snmp_sessions import WallClock, without_times
from tests.transport.snmpd import running

SYS_NAME, UPTIME, IF_DESCR, IF_TYPE = (
    "1.3.6.1.2.1.1.5.0",
    "1.3.6.1.2.1.1.3.0",
    "1.3.6.1.2.1.2.2.1.2",
    "1.3.6.1.2.1.2.2.1.3",
)
AUTH, PRIVACY = "authpass123456", "privpass123456"
DIGESTS = {"sha224": "SHA-224", "sha256": "SHA-256", "sha384": "SHA-384", "sha512": "SHA-512"}
CIPHERS = {"aes128": "AES", "aes256": "AES-256"}
PAIRS = list(product(DIGESTS, CIPHERS))


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    lines = ["rocommunity public 127.0.0.1", "sysName lab-switch"]
    for digest, cipher in PAIRS:
        name = f"{digest}{cipher}"
        lines += [f'createUser {name} {DIGESTS[digest]} "{AUTH}" {CIPHERS[cipher]} "{PRIVACY}"']
        lines += [f"rouser {name} authPriv .1"]
    with running(tmp_path_factory.mktemp("snmpd"), "\n".join(lines)) as port:
        yield LOOPBACK, port


def session(
    address: Address,
    digest: str = "sha256",
    cipher: str = "aes128",
    auth: str = AUTH,
    name: str = "",
    wait: float = 5.0,
) -> Snmp:
    user = SnmpUser(name or f"{digest}{cipher}", SecretStr(auth), SecretStr(PRIVACY), digest, cipher)  # type: ignore[arg-type]
    return LiveContext(WallClock(), Cost()).snmp(SnmpCredentials(*address, timeout_seconds=wait, user=user))


@pytest.mark.parametrize(("digest", "cipher"), PAIRS)
def test_polls_of_every_pair_are_those_by_community(agent: Address, digest: str, cipher: str) -> None:
    async def polled(asking: Snmp) -> list[object]:
        polls = [without_times(await asking.columns([IF_DESCR, IF_TYPE])) for _ in range(3)]
        names = [await asking.get([SYS_NAME]) for _ in range(3)]
        await asking.close()
        return [*polls, *names]

    plain = LiveContext(WallClock(), Cost()).snmp(SnmpCredentials(*agent, SecretStr("public")))
    by_community = asyncio.run(polled(plain))
    assert asyncio.run(polled(session(agent, digest, cipher))) == by_community
    assert by_community[-1] == {SYS_NAME: b"lab-switch"}


def reported(asking: Snmp) -> tuple[Failure, str]:
    async def play() -> None:
        try:
            await asking.get([SYS_NAME])
        finally:
            await asking.close()

    with pytest.raises(CollectorError) as caught:
        asyncio.run(play())
    return caught.value.failure, str(caught.value).partition(" ")[2]


def test_a_wrong_key_a_wrong_user_and_a_dead_host_are_told_apart(agent: Address) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind((LOOPBACK, 0))
        dead = reported(session(silent.getsockname(), wait=0.3))
    key, user = reported(session(agent, auth="wrongwrong")), reported(session(agent, name="nobody"))
    assert (key[0], user[0], dead[0]) == (Failure.REFUSED, Failure.REFUSED, Failure.UNREACHABLE)
    assert "wrong auth_password" in key[1]
    assert "has no SNMPv3 user 'nobody'" in user[1]
    assert "gave no SNMP answer" in dead[1]


@pytest.mark.parametrize("part", ["digest", "content"])
def test_an_answer_that_was_altered_on_its_way_is_not_believed(agent: Address, part: str) -> None:
    """Neither a wrong digest nor a wrong content: whoever sits in between cannot invent counters."""

    def altered(answer: bytes) -> list[bytes]:
        # The digest of SHA-256 has 24 octets (RFC 7860); the encrypted content stands at the end.
        place = answer.index(b"\x04\x18") + 2 if part == "digest" else len(answer) - 3
        return [bytes(octet ^ 0xFF if at == place else octet for at, octet in enumerate(answer))]

    async def play(proxy: AlteringProxy) -> list[object]:
        asking = session(proxy.address, wait=0.5)
        polls: list[object] = []
        for alteration in (unaltered, unaltered, altered, altered, unaltered):
            proxy.alter = alteration
            try:
                polls.append(await asking.get([SYS_NAME]))
            except CollectorError as error:
                polls.append(str(error))
        await asking.close()
        return polls

    with standing_for(AlteringProxy, agent) as proxy:
        polls = asyncio.run(play(proxy))
    right = {SYS_NAME: b"lab-switch"}
    assert [poll == right for poll in polls] == [True, True, False, False, True]
    assert all("lab-swi" not in str(poll) for poll in polls[2:4])
