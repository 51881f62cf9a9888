"""Verification of host keys: whether an SSH server is the intended machine. An unknown key is never accepted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import asyncssh

from sanpath.plugin import CollectorError, Failure

Keys = list[asyncssh.SSHKey]

_USER, _SYSTEM = Path("~/.ssh/known_hosts"), Path("/etc/ssh/ssh_known_hosts")


class HostKeys:
    """The known host keys, for one login.

    `name`: of the machine, for messages. `path`: the only file to read; None: those of the user and of the system.
    Raises MISCONFIGURED if the file `path` cannot be read.
    """

    def __init__(self, name: str, path: Path | None) -> None:
        self._name, self._file = name, path or _USER
        self._known_hosts = asyncssh.import_known_hosts("")
        self._host, self._shown = name, ""
        self._host_is_known = False
        for file in (path,) if path is not None else (_USER, _SYSTEM):
            try:
                lines = file.expanduser().read_text(encoding="utf-8", errors="replace").splitlines()
            except (OSError, RuntimeError) as error:  # RuntimeError: the account has no home directory.
                if path is not None:
                    message = f"known_hosts {path}: {getattr(error, 'strerror', error)}"
                    raise CollectorError(Failure.MISCONFIGURED, message) from error
                continue
            for line in lines:
                with contextlib.suppress(ValueError):  # an invalid line is skipped, as ssh does
                    self._known_hosts.load(line)

    def trusted(self, host: str, address: str, port: int | None) -> tuple[Keys, Keys, Keys]:
        """Return host keys, certificate authorities and revoked keys of a host, for asyncssh; `port` None: 22."""
        keys, authorities, revoked, *_ = self._known_hosts.match(host, address, port)
        self._host = host if port is None else f"[{host}]:{port}"
        self._host_is_known = bool(keys or authorities)
        return list(keys), list(authorities), list(revoked)

    def client(self) -> asyncssh.SSHClient:
        """Return a client that trusts no other key, and records the key that the server presents."""
        return _Client(self._record_key)

    def _record_key(self, shown: str) -> None:
        self._shown = shown

    def problem(self, reason: str) -> CollectorError:
        """Return the error for a failed key check, with its reason and what to do, on one line."""
        return CollectorError(Failure.MISCONFIGURED, f"{self._name}: {self._explain(reason)}")

    def _explain(self, reason: str) -> str:
        if "revoked" in reason:
            return f"its host key is marked as revoked in {self._file}"
        if not self._shown and "host key" not in reason:
            return reason
        shown = f" ({self._shown})" if self._shown else ""
        host, _, port = self._host.strip("[").partition("]:")
        target = f"-p {port} {host}" if port else host
        if self._host_is_known:
            return (
                f"ITS HOST KEY HAS CHANGED{shown}: somebody may be listening in. If the machine was installed "
                f"anew: ssh-keygen -R '{self._host}' -f {self._file}, then log in once with ssh {target}"
            )
        return (
            f"its host key{shown} is not known: compare it with the machine's own and log in once with ssh {target}, "
            f"or ssh-keyscan {target} >> {self._file}"
        )


class _Client(asyncssh.SSHClient):
    def __init__(self, note: Callable[[str], None]) -> None:
        self._record_key = note

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:  # noqa: ARG002
        self._record_key(f"{key.get_algorithm()} {key.get_fingerprint()}")
        return False
