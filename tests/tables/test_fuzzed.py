"""What the fuzzing room found, file by file."""

from __future__ import annotations

import base64
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

# Compressed by zlib, in base 64.
FOUND = {
    # pyarrow 26 ends the process where the size statistics of a column are damaged and the metadata
    # of that column are asked for.
    "parquet of other size statistics": (
        "eNoLcAwyFGURbWAWncTsI2ogyiDEwKCxVf+vwgFGNgYf807HhKdv7KX176qwNb7drxnTf+irxof9slEp1vf9H9or"
        "bijKmPj2yX7xm+e+Bz/+bv9h+TFv886v9vVZe0omS1zZv0gHCrZ9/nvlj327GEjd5/3ngYqXzv6yX6j5wKmFrs/s"
        "G6c6d+c8v70/wnLLibJ99/dD1P20zwcrYDyw6uMl3ySBD/byra8Dd8h93e/Fw6TdLrbSfgXINscn+5fNPqKwoejL"
        "/h1yIAVf7Ce+rbE3jbu0H6y89fl+UQZRPVEHHaDvBETZRNlkJDgWuUJcJMEBs0OMQQOLqKAgAzQ4xHcyMDABOQaM"
        "rOwKHY5dlhorj86qNjjluXovzuCDuHuHPSS47u7vnZ4HMhfqrtP2Swpsua4vPrB/33wpYAB/2X96IcgBL6Dh9N0e"
        "KAlU8dX+z0qQQQX7PR5Wiaxzv2kPDKzfKz9+gvr30/7SyRIsYXxXYeFjDw7G+avsdTfNfb/82OP9J8tANjzdD44V"
        "FgaHf1cqXqoZ3oBG5xN7CP0Cqu6nPQMYXLDHDDeYCRIcMDeDwg1TlMhwk7QxZZBgK07OSM1NFGVhEOVSZZJgTATR"
        "bBKMSQxiBpIykjpqDDKiXJKmDGwCkkBJUR4xA7EzLGIfWNR2MatxkBaXkjrAuGIQZWIAEgJAykaTTVKNwQDoPBRL"
        "kpAsWcWh9oOFNJ/jtkVsBqeYgRqH2ANOBkkZCR7HoCD/cCuI9yUeMOqDgJkjCAQ6QoC3o2O5o1O6o5ujY7qjczpY"
        "zMnJ0dEXxHB2dPQECyBoRwgTwgKTfllAQy2ADFcXV7Ag2GhXRzgAMZ0yQazKMqDSckeQVYEgdUDz3R0dkx1doIbB"
        "NQX6gg1xR3EqlOnuCnIv0BGRIBoCoDSDhEJBYlFhaWqJbnJBgW5iUVF+uUJZalFxZn6egpGZnoGeoaSODAMDEDHI"
        "ANNMALBoAgD4TJ2b"
    ),
    # pyarrow raises no error of its own, but EOFError.
    "feather whose footer points at its end": (
        "eNq1UTEOwjAMvLQhVFWGDBVirBAPAIkRifYFSF2Y+QHPYGTkqWxwdoxaIRg5KXZsnc+npB+G42kLPIkLgARBjYiA"
        "GSreCOdZg1XF6C2yzdPoTMNewFxZyTRcKXlpXBj/TJ5wg3YK3Xs1HUHEwjZHVUPpVaPFGzXrqC7E2948e4wo8Bvt"
        "5O4+5kY8Djn7LudkedWJX9jOSNdBnabslWo7xvXkfTYuT96+7P/He94Ze/3TF7TUGRE="
    ),
}


@pytest.mark.parametrize("command", ["report", "audit"])
@pytest.mark.parametrize("case", sorted(FOUND))
def test_found_by_fuzzing(tmp_path: Path, case: str, command: str) -> None:
    """In a separate process, which may end."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "found.data"
    path.write_bytes(zlib.decompress(base64.b64decode(FOUND[case])))
    done = subprocess.run(
        [sys.executable, "-m", "leakscore", command, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert done.stderr.startswith("leakscore: error: found.data is damaged")
    assert done.stderr.count("\n") == 1
