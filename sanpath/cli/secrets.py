"""Where `sanpath init` stores a typed secret: in a file that only its owner can read, or in the key ring."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import typer

from sanpath.errors import UsageError

SCHEMES = ("env:", "file:", "keyring:")
_SERVICE = "sanpath"


def reference(source: str, key: str, new: list[str]) -> str:
    """Ask for a secret. Returns a reference to it, never the secret. `new`: the reference is added if the secret was
    stored now. Raises UsageError if it cannot be stored."""
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
            return _store(source, key, typer.prompt(f"  {key} (not shown)", hide_input=True), new)
    return str(answer)


def forget(reference: str) -> None:
    """Remove a secret that `reference` has stored."""
    if reference.startswith("file:"):
        Path(reference.removeprefix("file:")).unlink(missing_ok=True)
    else:
        import keyring

        keyring.delete_password(_SERVICE, reference.removeprefix(f"keyring:{_SERVICE}/"))


def _store(source: str, key: str, secret: str, new: list[str]) -> str:
    if _has_keyring() and typer.confirm("  keep it in the key ring of this machine?", default=True):
        return _store_in_keyring(source, key, secret, new)
    return store_in_file(source, key, secret, new)


def store_in_file(source: str, key: str, secret: str, new: list[str]) -> str:
    """Write a secret to a file that only its owner can read, and return the reference. A file with another secret,
    which another configuration may refer to, stays as it is. Raises UsageError."""
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "sanpath"
    for name in _names(source, key):
        file = folder / name
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
                opened.write(f"{secret}\n")
        except FileExistsError:
            if not _holds(file, secret):
                continue
        except OSError as error:
            raise UsageError(f"{file}: the secret cannot be kept there: {error.strerror}; use env:NAME") from error
        else:
            new.append(f"file:{file}")
        break
    typer.echo(f"  kept in {file}, which only you can read")
    return f"file:{file}"


def _names(source: str, key: str) -> Iterator[str]:
    yield f"{source}-{key}"
    yield from (f"{source}-{key}-{number}" for number in itertools.count(2))


def _holds(file: Path, secret: str) -> bool:
    """Whether a file holds this secret, and only its owner can read it."""
    try:
        return not file.stat().st_mode & 0o077 and file.read_text(encoding="utf-8") == f"{secret}\n"
    except (OSError, ValueError):
        return False


def _has_keyring() -> bool:
    try:
        import keyring  # an extra: most machines under test have no key ring
    except ImportError:
        return False
    return bool(keyring.get_keyring().priority > 0)


def _store_in_keyring(source: str, key: str, secret: str, new: list[str]) -> str:
    import keyring

    name = next(each for each in _names(source, key) if keyring.get_password(_SERVICE, each) in (None, secret))
    if keyring.get_password(_SERVICE, name) is None:
        keyring.set_password(_SERVICE, name, secret)
        new.append(f"keyring:{_SERVICE}/{name}")
    return f"keyring:{_SERVICE}/{name}"
