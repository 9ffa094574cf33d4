"""What is refused in a file of scores names what helps there: no round may be left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from leakscore_app.tables import ReadingOptions
from tests.helpers.parts import read_scores

ROWS = "".join(f"{i % 7 + 0.5},{i % 2}\n" for i in range(12))


@pytest.mark.parametrize(
    ("line", "message", "options"),
    [
        ("-999,1", "remove its line if .*--missing-values none", {"missing_values": ("none",)}),
        ("bad,1", "--skip-last 1 leaves out a line below", {"skip_last": 1}),
        ('"1,234",1', "--decimal , or --thousands ,", {"exclude": ("score",)}),
    ],
)
def test_the_remedy_is_named(
    tmp_path: Path, line: str, message: str, options: dict[str, object]
) -> None:
    path = tmp_path / "t.csv"
    rows = ROWS if "234" not in line else ROWS.replace(".5", "")
    path.write_text(f"score,member\n{rows}{line}\n")
    with pytest.raises(ValueError, match=message) as refused:
        read_scores(str(path))
    assert "--bad-cells" not in str(refused.value)
    if "exclude" not in options:
        assert read_scores(str(path), options=ReadingOptions(**options)).data is not None  # type: ignore[arg-type]
