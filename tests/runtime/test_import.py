"""What ``import leakscore`` loads, and what it does not."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from importlib.metadata import metadata, version

import pytest

import leakscore
from leakscore import _core
from tests.runtime.test_isa import run_python

HEAVY = ["scipy", "argparse", "concurrent.futures", "importlib.metadata", "multiprocessing"]
ROOMS = [
    "audit",
    "canaries",
    "distributions",
    "games",
    "leakage",
    "scores",
    "sequential",
    "tradeoff",
    "whitebox",
]


# Without numpy and the package, which is imported before its compiled core.
DIRECTLY = (
    "from importlib.machinery import ExtensionFileLoader; "
    "from importlib.util import module_from_spec, spec_from_loader; "
    f"module_from_spec(spec_from_loader('_core', ExtensionFileLoader('_core', {_core.__file__!r})))"
)


def loaded_by(code: str) -> set[str]:
    """Return the modules that the code loads on top of numpy."""
    lines = (
        "import json, sys, numpy",
        "before = set(sys.modules)",
        code,
        "print(json.dumps(sorted(set(sys.modules) - before)))",
    )
    done = run_python("\n".join(lines))
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def test_import_loads_nothing_heavy() -> None:
    loaded = loaded_by("import leakscore")
    assert "leakscore._core" in loaded
    assert not {name for name in loaded if name.startswith(tuple(HEAVY))}


def test_import_loads_no_room() -> None:
    ours = {name for name in loaded_by("import leakscore") if name.startswith("leakscore")}
    own = ("_core", "_runtime")
    assert ours == {"leakscore", *(f"leakscore.{name}" for name in own)}


@pytest.mark.parametrize("name", ["leakscore", "/opt/bin/leakscore", "-m", "notebook"])
def test_only_the_program_sets_its_process_up(name: str) -> None:
    """As a library, nothing of the caller's process is changed."""
    code = f"""
        import os, sys
        sys.argv, sys.orig_argv = [{name!r}], ["python", "-m", "leakscore"]
        os.environ.pop("OPENBLAS_THREAD_TIMEOUT", None)
        import leakscore
        print(os.environ.get("OPENBLAS_THREAD_TIMEOUT"))
    """
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ["None" if name == "notebook" else "4"]


def test_distributions_load_no_other_room() -> None:
    loaded = loaded_by("import leakscore.distributions")
    assert not {f"leakscore.{room}" for room in ROOMS if room != "distributions"} & loaded
    assert not {name for name in loaded if name.startswith(("scipy", "argparse"))}


# Not in `__all__`, so that ``from leakscore import *`` asks for no optional package.
NOT_STARRED = [
    "dask",
    "plot",
    "reference",
    "results",
    "statistics",
    "torch",
    "typing",
    "validation",
]


SHARED = {f"leakscore.{name}" for name in ("reference", "results", "typing", "validation")}


# A child for each room, in which it is the first.
FIRST_ROOMS = f"""
import json, os, sys, numpy
before = set(sys.modules)
import leakscore
for room in {[*ROOMS, *NOT_STARRED]!r}:
    if os.fork() == 0:
        assert getattr(leakscore, room).__name__ == f"leakscore.{{room}}"
        print(json.dumps([room, sorted(set(sys.modules) - before)]), flush=True)
        os._exit(0)
    assert os.wait()[1] == 0, room
"""


def test_rooms_are_attributes_of_the_package_and_light() -> None:
    done = run_python(FIRST_ROOMS, OPENBLAS_NUM_THREADS="1")  # who has threads does not fork
    assert done.returncode == 0, done.stderr
    loaded = dict(map(json.loads, done.stdout.splitlines()))
    assert list(loaded) == [*ROOMS, *NOT_STARRED]
    for room, names in loaded.items():
        assert f"leakscore.{room}" in names
        optional = {"dask", "matplotlib", "torch", "pyarrow"}
        assert not {name.partition(".")[0] for name in names} & optional, room


def test_what_a_star_leaves_out_is_listed() -> None:
    loaded = loaded_by(
        f"from leakscore import *; assert not {set(NOT_STARRED)!r} & globals().keys()"
    )
    assert set(NOT_STARRED) <= set(dir(leakscore))
    assert not {f"leakscore.{room}" for room in NOT_STARRED} & (loaded - SHARED)


def test_every_public_name_is_there() -> None:
    for name in leakscore.__all__:
        assert getattr(leakscore, name) is not None
    assert set(leakscore.__all__) <= set(dir(leakscore))
    assert sorted(leakscore.__all__) == leakscore.__all__


def test_unknown_attribute() -> None:
    with pytest.raises(AttributeError, match="'leakscore' has no attribute 'nothing'"):
        leakscore.nothing  # noqa: B018  # type: ignore[attr-defined]


def test_version_comes_from_the_metadata() -> None:
    assert leakscore.__version__ == version("leakscore")


def test_metadata() -> None:
    fields = metadata("leakscore")
    assert fields["License-Expression"] == "BSD-3-Clause"
    assert "LICENSE" in fields.get_all("License-File", [])
    assert fields["Requires-Python"] == ">=3.10"
    required = [line for line in fields.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert sorted(required) == ["numpy>=1.26", "scipy>=1.12"]


def test_package_is_not_shadowed_by_the_checkout(pytestconfig: pytest.Config) -> None:
    code = "import leakscore; print(leakscore.__file__)"
    root = pytestconfig.rootpath
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == leakscore.__file__
    assert not (root / "leakscore").exists()


RUN_IN_A_SUBINTERPRETER = """
try:
    import _interpreters as them
    other, run = them.create("isolated" if ISOLATED else "legacy"), them.exec
except ImportError:
    import _xxsubinterpreters as them
    other, run = them.create(isolated=ISOLATED), them.run_string
run(other, CODE)
"""
OURS = "leakscore works in the main interpreter only"


@pytest.mark.parametrize("before", ["", "import leakscore"])
@pytest.mark.parametrize(
    ("code", "isolated"),
    # Not the package in an isolated one: an editable install's finder starts a process.
    [("import leakscore", 0), ("import numpy, leakscore._core", 0), (DIRECTLY, 0), (DIRECTLY, 1)],
)
def test_a_subinterpreter_is_refused(code: str, isolated: int, before: str) -> None:
    attempt = f"""
import sys, warnings
warnings.simplefilter("ignore")  # numpy's own
sys.path[:] = {sys.path!r}
try:
    {code}
except ImportError as error:
    print("refused:", error, flush=True)
"""
    lines = (before, f"ISOLATED, CODE = {isolated}, {attempt!r}", RUN_IN_A_SUBINTERPRETER)
    done = run_python("\n".join(lines), timeout=120.0)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("refused: ")
    # Other reasons may come first: numpy does not load twice, and from Python 3.12 on an isolated
    # interpreter refuses such modules by itself.
    if not isolated and (code == DIRECTLY or not before):
        assert OURS in done.stdout
