"""Lists of numbers that begin with a minus are values, not options."""

from __future__ import annotations

from pathlib import Path

import pytest

from leakscore_app.cli import main


@pytest.mark.parametrize("codes", [["-999,-99"], ["-999", "--missing-values", "-99"]])
def test_negative_codes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], codes: list[str]
) -> None:
    path = tmp_path / "t.csv"
    rows = "".join(f"{i % 7},{i * i % 11}\n" for i in range(30))
    path.write_text(f"a,b\n{rows}-999,-99\n")
    command = ["report", str(path), "--rounds", "200"]
    assert main([*command]) == 1
    assert "--missing-values -999 if" in capsys.readouterr().err
    assert main([*command, "--missing-values", *codes]) == 0
