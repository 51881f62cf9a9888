"""Where `sanpath init` stores a typed secret: in a file that only its owner can read, or in the key ring."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from sanpath.errors import UsageError

SCHEMES = ("env:", "file:", "keyring:")


def reference(source: str, key: str) -> str:
    """Ask for a secret. Returns a reference to it, never the secret. Raises UsageError if it cannot be stored."""
    variable = f"{source}_{key}".upper().replace("-", "_").replace(".", "_")
    default = f"env:{variable}" if variable in os.environ else ""
    answer = ""
    while not answer.startswith(SCHEMES):
        if answer:
            typer.echo(f"  a reference begins with {', '.join(SCHEMES)}; press Enter to type the secret instead")
        answer = typer.prompt(
            f"  {key}: env:NAME, file:PATH, keyring:SERVICE/USER, or Enter to type it",
            default,
            show_default=bool(default),
        )
        if not answer:
            return _store(source, key, typer.prompt(f"  {key} (not shown)", hide_input=True))
    return str(answer)


def _store(source: str, key: str, secret: str) -> str:
    if _has_keyring() and typer.confirm("  keep it in the key ring of this machine?", default=True):
        return _store_in_keyring(source, key, secret)
    return store_in_file(source, key, secret)


def store_in_file(source: str, key: str, secret: str) -> str:
    """Write a secret to a file that only its owner can read. Returns the reference. Raises UsageError."""
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "sanpath"
    file = folder / f"{source}-{key}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
            opened.write(f"{secret}\n")
    except OSError as error:
        raise UsageError(f"{file}: the secret cannot be kept there: {error.strerror}; use env:NAME") from error
    typer.echo(f"  kept in {file}, which only you can read")
    return f"file:{file}"


def _has_keyring() -> bool:
    try:
        import keyring  # an extra: most machines under test have no key ring
    except ImportError:
        return False
    return bool(keyring.get_keyring().priority > 0)


def _store_in_keyring(source: str, key: str, secret: str) -> str:
    import keyring

    keyring.set_password("sanpath", f"{source}-{key}", secret)
    return f"keyring:sanpath/{source}-{key}"
