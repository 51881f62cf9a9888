"""Authentication by SNMP v2c community or SNMPv3 user, and the meaning of an agent's refusals."""

from __future__ import annotations

from typing import Any

from sanpath.plugin import SnmpCredentials, SnmpUser

_V2C = 1  # SNMP message processing model, RFC 3411


def auth_data(credentials: SnmpCredentials) -> Any:
    """Return the community or user as a pysnmp object. Raises ValueError unless exactly one of them is given."""
    from pysnmp.hlapi.v3arch import asyncio as pysnmp

    user = credentials.user
    if (user is None) == (credentials.community is None):
        raise ValueError("give either a community or a user")
    if user is None:
        assert credentials.community is not None  # noqa: S101 - checked above
        return pysnmp.CommunityData(credentials.community.get_secret_value(), mpModel=_V2C)
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
    private = user.privacy_password
    return pysnmp.UsmUserData(
        user.name,
        user.auth_password.get_secret_value(),
        private.get_secret_value() if private else None,
        authProtocol=digest[user.auth_protocol],
        privProtocol=cipher[user.privacy_protocol, user.key_extension] if private else pysnmp.USM_PRIV_NONE,
    )


def refusal_text(credentials: SnmpCredentials, problem: Any) -> str | None:
    """Return the meaning of an agent's report about the SNMPv3 user (RFC 3414, section 3.2).

    None: the problem does not concern the user.
    """
    from pysnmp.proto import errind

    user = credentials.user
    if user is None:
        return None
    security_level = "authNoPriv" if user.privacy_password is None else "authPriv"
    meanings = {
        errind.UnknownUserName: f"has no SNMPv3 user {user.name!r}",
        errind.WrongDigest: f"refuses user {user.name!r}: wrong auth_password, or not {user.auth_protocol}",
        errind.DecryptionError: f"cannot decrypt the request of user {user.name!r}: wrong privacy_password",
        errind.UnsupportedSecurityLevel: f"does not accept user {user.name!r} with {security_level}",
        errind.NotInTimeWindow: "reports another restart count than before: another device has the same engine ID",
    }
    meaning = next((text for kind, text in meanings.items() if isinstance(problem, kind)), None)
    return None if meaning is None else f"{credentials.host}:{credentials.port} {meaning}"


def no_answer_text(credentials: SnmpCredentials, unsolicited_sender: tuple[str, int] | None = None) -> str:
    """Return the message for a missing answer.

    An SNMP v2c agent does not answer a wrong community (RFC 3584, section 5.2.1). `unsolicited_sender`: an address
    that sent a datagram in that time, although nothing was sent to it.
    """
    if unsolicited_sender is not None:
        sender = f"{unsolicited_sender[0]}:{unsolicited_sender[1]}"
        return f"{no_answer_text(credentials)}; {sender} answered instead: if it is the same switch, use that address"
    duration = f"{1 + credentials.retries} x {credentials.timeout_seconds:g} s"
    problem = f"{credentials.host}:{credentials.port} gave no SNMP answer in {duration}: down, filtered, or"
    if credentials.user is None:
        return f"{problem} a wrong community (v2c agents do not answer it)"
    return f"{problem} {_unanswered_causes(credentials.user)} (agents do not answer it)"


def undecrypted_text(credentials: SnmpCredentials, user: SnmpUser) -> str:
    """Return the message for a missing answer after the agent has reported its engine ID.

    The agent checks user and digest before it decrypts, and reports when they are wrong. It cannot report a wrong
    decryption (RFC 3414, section 3.2: AES has no integrity check), and so drops the request.
    """
    requests = "requests" if user.privacy_password is None else "encrypted requests"
    return (
        f"{credentials.host}:{credentials.port} answers and has the user {user.name!r}, "
        f"but does not answer {requests}: {_unanswered_causes(user)}"
    )


def _unanswered_causes(user: SnmpUser) -> str:
    causes = []
    if user.privacy_password is not None:
        causes += ["wrong privacy_password", f"not privacy_protocol {user.privacy_protocol}"]
        if _extends_key(user):
            causes.append(f"not key_extension {user.key_extension}")
    if user.context or not causes:
        causes.append(f"no context {user.context!r}")
    return " or ".join(filter(None, (", ".join(causes[:-1]), causes[-1])))


def _extends_key(user: SnmpUser) -> bool:
    """Whether the digest is shorter than the AES key, so that the two drafts derive different keys from it."""
    digest_bytes = {"md5": 16, "sha1": 20, "sha224": 28}.get(user.auth_protocol, 32)
    return digest_bytes < {"aes128": 16, "aes192": 24, "aes256": 32}[user.privacy_protocol]
