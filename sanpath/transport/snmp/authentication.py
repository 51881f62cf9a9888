"""How a session proves who it is: an SNMP v2c community or an SNMPv3 user, and what an agent's refusal means."""

from __future__ import annotations

from typing import Any

from sanpath.plugin import SnmpCredentials, SnmpUser

_V2C = 1  # SNMP message processing model, RFC 3411


def auth_data(who: SnmpCredentials) -> Any:
    """pysnmp's form of the community or the user. Raises ValueError when not exactly one of them is given."""
    from pysnmp.hlapi.v3arch import asyncio as pysnmp

    user = who.user
    if (user is None) == (who.community is None):
        raise ValueError("give either a community or a user")
    if user is None:
        assert who.community is not None  # noqa: S101 - what the line above says
        return pysnmp.CommunityData(who.community.get_secret_value(), mpModel=_V2C)
    digest = {
        "md5": pysnmp.USM_AUTH_HMAC96_MD5,
        "sha1": pysnmp.USM_AUTH_HMAC96_SHA,
        "sha224": pysnmp.USM_AUTH_HMAC128_SHA224,
        "sha256": pysnmp.USM_AUTH_HMAC192_SHA256,
        "sha384": pysnmp.USM_AUTH_HMAC256_SHA384,
        "sha512": pysnmp.USM_AUTH_HMAC384_SHA512,
    }
    cipher = {
        ("aes128", "blumenthal"): pysnmp.USM_PRIV_CFB128_AES,
        ("aes128", "reeder"): pysnmp.USM_PRIV_CFB128_AES,
        ("aes192", "blumenthal"): pysnmp.USM_PRIV_CFB192_AES_BLUMENTHAL,
        ("aes192", "reeder"): pysnmp.USM_PRIV_CFB192_AES,
        ("aes256", "blumenthal"): pysnmp.USM_PRIV_CFB256_AES_BLUMENTHAL,
        ("aes256", "reeder"): pysnmp.USM_PRIV_CFB256_AES,
    }
    return pysnmp.UsmUserData(
        user.name,
        user.auth_password.get_secret_value(),
        user.privacy_password.get_secret_value(),
        authProtocol=digest[user.auth_protocol],
        privProtocol=cipher[user.privacy_protocol, user.key_extension],
    )


def refusal(who: SnmpCredentials, problem: Any) -> str | None:
    """What a report of the agent says of the SNMPv3 user (RFC 3414, section 3.2); None for other problems."""
    from pysnmp.proto import errind

    user = who.user
    if user is None:
        return None
    meanings = {
        errind.UnknownUserName: f"knows no SNMPv3 user {user.name!r}",
        errind.WrongDigest: f"refuses user {user.name!r}: wrong auth_password, or not {user.auth_protocol}",
        errind.DecryptionError: f"cannot decrypt the request of user {user.name!r}: wrong privacy_password",
        errind.UnsupportedSecurityLevel: f"does not let user {user.name!r} in with authentication and privacy",
        errind.NotInTimeWindow: "counts its restarts otherwise than a moment ago: its engine ID is not its alone",
    }
    meaning = next((text for kind, text in meanings.items() if isinstance(problem, kind)), None)
    return None if meaning is None else f"{who.host}:{who.port} {meaning}"


def silence(who: SnmpCredentials, stranger: tuple[str, int] | None = None) -> str:
    """What no answer means: an SNMP v2c agent does not answer a wrong community (RFC 3584, section 5.2.1).

    `stranger`: who answered in that time without having been asked.
    """
    if stranger is not None:
        from_whom = f"{stranger[0]}:{stranger[1]}"
        return f"{silence(who)}; {from_whom} answered unasked: if it is the same switch, give that address"
    waited = f"{1 + who.retries} x {who.timeout_seconds:g} s"
    gave = f"{who.host}:{who.port} gave no SNMP answer in {waited}: down, filtered, or"
    if who.user is None:
        return f"{gave} a wrong community (v2c agents stay silent to it)"
    return f"{gave} {_unreadable_request(who.user)} (agents stay silent to it)"


def undecrypted(who: SnmpCredentials, user: SnmpUser) -> str:
    """What silence after the agent has named its engine means.

    User and digest are checked before anything is decrypted, and answered with a report when they are wrong; of what
    is no message after decryption the agent can say nothing (RFC 3414, section 3.2: AES has no check of its own).
    """
    return (
        f"{who.host}:{who.port} is there and knows user {user.name!r}, but does not answer what is encrypted: "
        f"{_unreadable_request(user)}"
    )


def _unreadable_request(user: SnmpUser) -> str:
    guesses = ["wrong privacy_password", f"not privacy_protocol {user.privacy_protocol}"]
    if _extends_key(user):
        guesses.append(f"not key_extension {user.key_extension}")
    if user.context:
        guesses.append(f"no context {user.context!r}")
    return " or ".join((", ".join(guesses[:-1]), guesses[-1]))


def _extends_key(user: SnmpUser) -> bool:
    """Whether the digest is shorter than the AES key, so that the two drafts make different keys of it."""
    digest_bytes = {"md5": 16, "sha1": 20, "sha224": 28}.get(user.auth_protocol, 32)
    return digest_bytes < {"aes128": 16, "aes192": 24, "aes256": 32}[user.privacy_protocol]
