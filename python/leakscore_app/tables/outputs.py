"""Where results go: no input is overwritten, and a file is written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

STANDARD_OUTPUT = "-"

_NAMES_OF_STANDARD_OUTPUT = frozenset({"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})


def destination(path: str | None) -> str | None:
    """Return ``-`` for every name of the standard output, and any other path as it is."""
    return STANDARD_OUTPUT if path in _NAMES_OF_STANDARD_OUTPUT else path


def require_writable(
    *paths: str | None, read: Sequence[str | None] = (), printed: bool = False
) -> None:
    """Refuse before the work outputs that could not, or must not, be written after it.

    Parameters
    ----------
    *paths : str or None
        Where results are written; ``-`` is the standard output.
    read : sequence of str or None
        The files that are read; ``-`` is the standard input.
    printed : bool
        Whether text goes to the standard output anyway.
    """
    if paths.count(STANDARD_OUTPUT) > 1:
        raise ValueError("only one of the outputs can go to standard output")
    for path in paths:
        if path is not None and path != STANDARD_OUTPUT:
            _require_target(path)
    inputs = {_identity(path, sys.stdin) for path in read if path is not None} - {None}
    outputs: dict[Any, str] = {}
    targets = [path for path in paths if path is not None]
    if printed and STANDARD_OUTPUT not in targets:
        targets.insert(0, STANDARD_OUTPUT)
    for path in targets:
        identity = _identity(path, sys.stdout)
        shown = "standard output" if path == STANDARD_OUTPUT else path
        if identity is not None and identity in inputs:
            raise ValueError(f"cannot write {shown}: it is one of the files that are read")
        if identity is not None and identity in outputs:
            raise ValueError(f"cannot write {shown}: {outputs[identity]} is the same file")
        outputs[identity] = shown


def _require_target(path: str) -> None:
    """Refuse a path that cannot be written."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise ValueError(f"cannot write {path}: it is a directory")
    if not target.parent.is_dir():
        raise ValueError(f"cannot write {path}: its directory does not exist")
    if target.exists() and not os.access(target, os.W_OK):
        raise ValueError(f"cannot write {path}: it is write-protected")
    if not _is_special(target) and not os.access(target.parent, os.W_OK | os.X_OK):
        raise ValueError(f"cannot write {path}: its directory is write-protected")


def _is_special(target: Path) -> bool:
    """Whether the path is a terminal, a pipe or a device: neither a file nor missing."""
    return target.exists() and not target.is_file()


def _identity(path: str, standard: Any) -> Any:
    """Return an identity that is equal for two paths to one file; None for a device or a socket.

    A hard link has the device and number of its file, and so do standard streams that were
    redirected from or to it. A file that does not exist yet is identified by its folder and name.
    """
    try:
        status = os.fstat(standard.fileno()) if path == STANDARD_OUTPUT else Path(path).stat()
    except FileNotFoundError:
        target = Path(os.path.realpath(path))
        if not target.parent.is_dir():
            return None
        folder = target.parent.stat()
        return folder.st_dev, folder.st_ino, target.name
    except (OSError, ValueError, AttributeError):  # closed, or no file: a test's, a notebook's
        return None
    plain = stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)
    return (status.st_dev, status.st_ino) if plain else None


def write(path: str, text: str) -> None:
    """Write a file as a whole, or print to the standard output.

    A file is written beside its target and then moved onto it: an earlier file is whole until it is
    replaced. Devices and pipes are written directly.
    """
    if path == STANDARD_OUTPUT:
        _print(text)
        return
    with _named(path):
        target = Path(os.path.realpath(path))
        data = text.encode("utf-8", "backslashreplace")
        if _is_special(target):
            with target.open("wb", buffering=0) as device:
                _write_all(device, data)
        else:
            _replace(target, data)


def _replace(target: Path, data: bytes) -> None:
    """Replace a file and keep its permissions; a new file gets the usual ones."""
    before = target.stat() if target.exists() else None
    temporary = target.parent / f".leakscore-{secrets.token_hex(8)}.tmp"
    opened = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(opened, "wb", buffering=0) as file:
            _write_all(file, data)
            os.fsync(file.fileno())
            if before is not None:
                _keep_owner(file.fileno(), before)
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _keep_owner(descriptor: int, before: os.stat_result) -> None:
    """Give a file the permissions of another and, as far as that is allowed, its owner."""
    if not hasattr(os, "fchmod"):
        return
    with contextlib.suppress(OSError):
        os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def _write_all(file: Any, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def _print(text: str) -> None:
    """Print to the standard output, whose encoding may lack characters."""
    if sys.stdout is None:  # closed before the program began: nobody reads
        return
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = text.replace("±", "+-").encode("ascii", "replace").decode("ascii")
    with _printing():
        sys.stdout.write(text)
        sys.stdout.flush()


def flush() -> None:
    """Print what is still in the buffer."""
    if sys.stdout is not None:
        with _printing():
            sys.stdout.flush()


@contextlib.contextmanager
def _printing() -> Iterator[None]:
    """Name the standard output in its errors, and print nothing more to it afterwards."""
    try:
        with _named("standard output"):
            yield
    except OSError:
        abandon_output()
        raise


@contextlib.contextmanager
def _named(path: str) -> Iterator[None]:
    """Name the file in the errors of the system; a closed pipe is not an error."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.errno == errno.EPIPE:
            raise
        raise OSError(error.errno, os.strerror(error.errno), path) from error


def abandon_output() -> None:
    """Discard what is still to be printed: its reader has left, or its disk is full."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
