"""Files that SACRO-ML 2.0.1 wrote: LiRA with 20 shadow models on a random forest of 80 records.

The forest and its records are scikit-learn's (Wisconsin breast cancer, the first 160 rows, halved).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from tests.helpers.parts import Rounds, read_scores

FILES = Path(__file__).parent / "files"
ARCHIVE = FILES / "sacro_ml_2.0.1_lira.npz"


def test_records_scores() -> None:
    read = read_scores(str(ARCHIVE))
    assert (read.writer, read.format) == ("SACRO-ML", "npz")
    assert isinstance(read.data, Rounds)
    arrays = np.load(ARCHIVE, allow_pickle=False)
    np.testing.assert_array_equal(read.data.scores, arrays["individual.member_prob"])
    np.testing.assert_array_equal(read.data.member, arrays["individual.member"] == 1)


def test_members_score_higher() -> None:
    """The area under the curve is the one that SACRO-ML prints (0.67070312, in its report)."""
    data = read_scores(str(ARCHIVE)).data
    assert isinstance(data, Rounds)
    assert f"{roc_auc_score(data.member, data.scores):.8f}" == "0.67070312"


def test_report_names_the_archives(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"report_arrays_5a20933a_instance_0\.npz: audit one"):
        read_scores(str(FILES / "sacro_ml_2.0.1_report.json"))
    bare = tmp_path / "report.json"
    bare.write_text('{"A": {"attack_experiment_logger": {"attack_instance_logger": {"i": 1}}}}')
    with pytest.raises(ValueError, match=r"nowhere; an attack saves them .* report_individual"):
        read_scores(str(bare))
