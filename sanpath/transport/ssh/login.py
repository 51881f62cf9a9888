"""Logging in to a machine over SSH: the user's own ssh configuration, a known host key, and clear refusals."""

from __future__ import annotations

import asyncio
import os

import asyncssh

from sanpath.plugin import CollectorError, Failure, SshTarget
from sanpath.transport.ssh.host_keys import HostKeys

_KEEPALIVE_SECONDS = 15.0
_KEY_TYPES = "+ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,rsa-sha2-256"
"""Types of host keys in addition to those in known_hosts: a server without a common type just disconnects."""


async def log_in(target: SshTarget) -> asyncssh.SSHClientConnection:
    """Open a persistent connection. Raises CollectorError: MISCONFIGURED (host key, file), REFUSED, UNREACHABLE.

    ~/.ssh/config is honoured, including ProxyJump and ProxyCommand, except for its settings of forwarding,
    environment and known_hosts. Nothing is forwarded, no terminal is requested and no variable is sent.
    """
    name = name_of(target)
    keys = HostKeys(name, target.known_hosts)
    if target.key_file is not None and not target.key_file.is_file():
        raise CollectorError(Failure.MISCONFIGURED, f"key_file {target.key_file}: there is no such file")
    try:
        async with asyncio.timeout(target.timeout_seconds):
            return await _connect(target, keys)
    except TimeoutError as error:
        message = f"{name}: gave no answer to SSH in {target.timeout_seconds:g} s"
        raise CollectorError(Failure.UNREACHABLE, message) from error
    except asyncssh.PermissionDenied as error:
        raise _refused(target) from error
    except (asyncssh.HostKeyNotVerifiable, asyncssh.KeyExchangeFailed) as error:
        raise keys.problem(error.reason) from error
    except (asyncssh.Error, OSError) as error:
        if "authentication failures" in str(error):  # the message of a server that was offered too many keys
            raise _refused(target) from error
        raise CollectorError(Failure.UNREACHABLE, f"{name}: {failure_text(error)}") from error
    except ValueError as error:  # a key or ~/.ssh/config that cannot be read
        raise CollectorError(Failure.MISCONFIGURED, f"{name}: {error}") from error


async def _connect(target: SshTarget, keys: HostKeys) -> asyncssh.SSHClientConnection:
    return await asyncssh.connect(
        target.host,
        target.port if target.port is not None else (),
        username=target.user if target.user is not None else (),
        password=target.password.get_secret_value() if target.password is not None else None,
        client_keys=[str(target.key_file)] if target.key_file is not None else (),
        # With a key_file no other key is offered: servers count each refused key of an agent as a failed login.
        agent_path=None if target.key_file is not None else (),
        known_hosts=keys.trusted,
        client_factory=keys.client,
        server_host_key_algs=_KEY_TYPES,
        agent_forwarding=False,
        x11_forwarding=False,
        request_pty=False,
        command=None,
        env=None,
        send_env=None,
        keepalive_interval=_KEEPALIVE_SECONDS,
    )


def name_of(target: SshTarget) -> str:
    """Return the name of the machine for messages."""
    return target.host if target.port is None else f"{target.host}:{target.port}"


def failure_text(error: Exception) -> str:
    """Return the reason why a connection failed, for messages."""
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)  # asyncio's messages contain calls and addresses
    return str(error) or type(error).__name__


def _refused(target: SshTarget) -> CollectorError:
    user = f"user {target.user!r}" if target.user is not None else "you"
    keys = f"key_file {target.key_file}" if target.key_file is not None else "the keys of your agent and ~/.ssh"
    password = " nor with the password" if target.password is not None else ""
    return CollectorError(Failure.REFUSED, f"{name_of(target)} does not let {user} in with {keys}{password}")
