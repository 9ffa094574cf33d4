"""Real data that figures read: the Debian package that has them, and their place on the machine.

A figure that reads data has an entry in PACKAGES, and its module's `reproduce` takes `data`, a
tuple of paths: those of the package's files, in their order, or of the one file that replaces them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PACKAGES", "Package", "find"]


@dataclass(frozen=True)
class Package:
    """A Debian package, and the files of it that are read."""

    name: str
    folder: str
    files: tuple[str, ...]
    any_file: bool = False  # whether one file of another name may replace them all

    def installed(self) -> Path:
        """Return where the package puts its files."""
        return Path(self.folder)

    def inside(self, root: Path) -> Path | None:
        """Return the folder at or below `root` that holds all files."""
        for folder in (root, root / self.installed().relative_to("/")):
            if all((folder / file).is_file() for file in self.files):
                return folder
        return None

    @property
    def how(self) -> str:
        """How to install it, with and without the rights of an administrator."""
        return (
            f"apt-get install {self.name}; or apt-get download {self.name} && "
            f"dpkg -x {self.name}_*.deb DIR, and --data DIR"
        )


_FASHION = Package(
    "dataset-fashion-mnist",
    "/usr/share/datasets/fashion-mnist",
    ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
)
PACKAGES = {
    "azize-3": _FASHION,
    "azize-7": _FASHION,
    "azize-8": _FASHION,
    "genotypes": Package(
        "shapeit4-example",
        "/usr/share/doc/shapeit4/examples/test",
        ("reference.vcf.gz", "unphased.vcf.gz"),
        any_file=True,
    ),
    "kaissis-4": _FASHION,
    "michel-3": _FASHION,
    "michel-9": _FASHION,
    "michel-10": _FASHION,
    "sequences": _FASHION,
    "shaped-noise": _FASHION,
    "shadow": _FASHION,
}


def find(figure: str, data: str | os.PathLike[str] | None) -> tuple[Path, ...]:
    """Return the paths of the files that a figure reads.

    `data` is the folder that holds them, a folder into which the package was unpacked, or one of
    the files, with the others beside it. Without `data` they are where the package puts them.
    """
    package = PACKAGES.get(figure)
    if package is None:
        raise ValueError(f"data={os.fspath(data or '')!r} must be None: {figure} reads none")
    if data is not None and not isinstance(data, (str, os.PathLike)):
        raise TypeError(f"data={data!r} must be a path")
    root = package.installed() if data is None else Path(data)
    if data is not None and not root.exists():
        raise FileNotFoundError(f"{root}: no such file or directory. {_missing(figure, package)}")
    if root.is_file():
        if root.name not in package.files:
            if package.any_file:
                return (root,)
            raise ValueError(f"{root} is none of {', '.join(package.files)}")
        root = root.parent
    folder = package.inside(root)
    if folder is None:
        raise FileNotFoundError(
            f"{root} does not hold {' and '.join(package.files)}. {_missing(figure, package)}"
        )
    return tuple(folder / file for file in package.files)


def _missing(figure: str, package: Package) -> str:
    return f"{figure} reads the data of Debian's package {package.name}: {package.how}"
