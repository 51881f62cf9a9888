"""Logging in to a machine over SSH: the user's own ssh configuration, a known host key, and clear refusals."""

from __future__ import annotations

import asyncio
import os

import asyncssh

from sanpath.plugin import CollectorError, Failure, SshTarget
from sanpath.transport.ssh.host_keys import HostKeys

_KEEPALIVE_SECONDS = 15.0
_ALSO_ACCEPTED = "+ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,rsa-sha2-256"
"""Kinds of host keys beside those that are known: a server with none of them would hang up, and not say why."""


async def log_in(target: SshTarget) -> asyncssh.SSHClientConnection:
    """A connection that stays. Raises CollectorError: MISCONFIGURED (host key, file), REFUSED, UNREACHABLE.

    ~/.ssh/config is honoured, ProxyJump and ProxyCommand included, but for what it says of forwarding, of the
    environment and of known_hosts. Nothing is forwarded, no terminal is asked for and no variable is sent.
    """
    where = place_of(target)
    keys = HostKeys(where, target.known_hosts)
    if target.key_file is not None and not target.key_file.is_file():
        raise CollectorError(Failure.MISCONFIGURED, f"key_file {target.key_file}: there is no such file")
    try:
        async with asyncio.timeout(target.timeout_seconds):
            return await _connect(target, keys)
    except TimeoutError as error:
        why = f"{where}: gave no answer to SSH in {target.timeout_seconds:g} s"
        raise CollectorError(Failure.UNREACHABLE, why) from error
    except asyncssh.PermissionDenied as error:
        raise _refused(target) from error
    except (asyncssh.HostKeyNotVerifiable, asyncssh.KeyExchangeFailed) as error:
        raise keys.problem(error.reason) from error
    except (asyncssh.Error, OSError) as error:
        if "authentication failures" in str(error):  # a server's words when it was offered too many keys
            raise _refused(target) from error
        raise CollectorError(Failure.UNREACHABLE, f"{where}: {reason_of(error)}") from error
    except ValueError as error:  # a key or ~/.ssh/config that cannot be read
        raise CollectorError(Failure.MISCONFIGURED, f"{where}: {error}") from error


async def _connect(target: SshTarget, keys: HostKeys) -> asyncssh.SSHClientConnection:
    return await asyncssh.connect(
        target.host,
        target.port if target.port is not None else (),
        username=target.user if target.user is not None else (),
        password=target.password.get_secret_value() if target.password is not None else None,
        client_keys=[str(target.key_file)] if target.key_file is not None else (),
        # A key that is named is the only one: servers count keys of an agent as wrong passwords.
        agent_path=None if target.key_file is not None else (),
        known_hosts=keys.trusted,
        client_factory=keys.client,
        server_host_key_algs=_ALSO_ACCEPTED,
        agent_forwarding=False,
        x11_forwarding=False,
        request_pty=False,
        command=None,
        env=None,
        send_env=None,
        keepalive_interval=_KEEPALIVE_SECONDS,
    )


def place_of(target: SshTarget) -> str:
    """What people call the machine."""
    return target.host if target.port is None else f"{target.host}:{target.port}"


def reason_of(error: Exception) -> str:
    """Why a connection failed, in few words."""
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)  # asyncio's own words are of calls and addresses
    return str(error) or type(error).__name__


def _refused(target: SshTarget) -> CollectorError:
    user = f"user {target.user!r}" if target.user is not None else "you"
    tried = f"key_file {target.key_file}" if target.key_file is not None else "the keys of your agent and ~/.ssh"
    also = " nor with the password" if target.password is not None else ""
    return CollectorError(Failure.REFUSED, f"{place_of(target)} does not let {user} in with {tried}{also}")
