"""Good files of every format, from which the fuzzing room makes bad ones."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

_RNG = np.random.default_rng(0)
_ROWS = 24
_SCORES = _RNG.normal(size=_ROWS).round(3)
_BITS = np.arange(_ROWS) % 2
_TABLE = _RNG.normal(size=(_ROWS, 3)).round(3)


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(compressed: bool = False, **arrays: Any) -> bytes:
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, **arrays)
    return file.getvalue()


def parquet(columns: dict[str, Any], **options: Any) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, **options)
    return file.getvalue()


def _csv() -> list[bytes]:
    table = "\n".join(",".join(map(str, row)) for row in _TABLE)
    rounds = "\n".join(f"{score},{bit}" for score, bit in zip(_SCORES, _BITS, strict=True))
    words = "\n".join(
        f"{str(score).replace('.', ',')};{'in' if bit else 'out'}"
        for score, bit in zip(_SCORES, _BITS, strict=True)
    )
    texts = [
        f"a,b,c\n{table}\n",
        f'"a, b",b,"c\nd"\n{table.replace("-", "NA", 2)}\n',
        f"score,member\n{rounds}\n",
        f"score;member\n{words}\n",
        "members,nonmembers\n1,2\n3,4\n5,\n",
        "edges,member_counts,nonmember_counts\n-inf,3,4\n0,5,1\ninf,,\n",
        "tp,fp,tn,fn\n5,1,9,5\n7,3,7,3\n",
    ]
    return [*(text.encode() for text in texts), texts[0].encode("utf-16"), b'""\n1\n2\n']


def _numpy() -> list[bytes]:
    fields = np.zeros(_ROWS, [("score", "<f8"), ("member", "?"), ("word", "<U6"), ("x", "u1", 2)])
    fields["score"], fields["member"], fields["word"] = _SCORES, _BITS, "é"
    words = np.where(_BITS, "in", "out")
    rounds = {"scores": _SCORES, "memberships": _BITS.astype(bool)}
    arrays = (
        npy(array)
        for array in (
            _TABLE,
            np.asfortranarray(_TABLE).astype(">f4"),
            _TABLE.astype(np.float16),
            fields,
            words,
            _SCORES,
        )
    )
    return [
        *arrays,
        npz(**rounds),
        npz(True, **rounds, one_tenth_fpr=np.zeros(1)),
        npz(scores=_SCORES, member=words.astype("S3")),
        npz(True, table=_TABLE),
        npz(members=_SCORES.astype(np.float32), nonmembers=_SCORES[:5]),
        npz(tp=np.uint8([5, 7]), fp=np.uint8([1, 3]), tn=np.uint8([9, 7]), fn=np.uint8([5, 3])),
    ]


def _json() -> list[bytes]:
    rounds = {"score": _SCORES.tolist(), "member": _BITS.tolist()}
    documents = [
        rounds,
        {"primitives": {"signal_values": [[s] for s in _SCORES], "true_labels": _BITS.tolist()}},
        {"members": [1, 2.5, 3], "nonmembers": [True, 0, 2]},
        {"edges": [-1e3, 0, 1e3], "member_counts": [3, 4], "nonmember_counts": [5, 1]},
        {"tp": 5, "fp": 1, "tn": 9, "fn": 5, "name": "attack"},
        {"score": _SCORES.tolist(), "member": ["in" if bit else "out" for bit in _BITS]},
    ]
    return [json.dumps(document).encode() for document in documents]


def _parquet() -> list[bytes]:
    try:
        import pyarrow as pa
    except ImportError:
        return []
    words = ["in" if bit else "out" for bit in _BITS]
    rounds = {"score": _SCORES, "member": _BITS.astype(bool)}
    odd = {
        "i": pa.array([1, None, 3]),
        "decimal": pa.array(["1.5", "2.5", None]).cast(pa.decimal128(10, 3)),
        "word": pa.array(["a", "b", None]),
        "list": pa.array([[1], [2, 3], []]),
        "time": pa.array([1, 2, 3], pa.timestamp("ms")),
        "half": pa.array(np.float16([1, 2, 3])),
    }
    return [
        parquet(rounds, compression="none"),
        parquet(rounds, compression="snappy", use_dictionary=False),
        parquet({"score": _SCORES, "member": words}, compression="gzip", row_group_size=5),
        parquet({"a": _TABLE[:, 0], "b": _TABLE[:, 1]}, compression="zstd"),
        parquet(odd, compression="none", data_page_version="2.0"),
        parquet({"score": pa.array(words).dictionary_encode(), "member": _BITS}),
    ]


def _workbooks() -> list[bytes]:
    try:
        import openpyxl
    except ImportError:
        return []
    files = []
    for rows in (
        [["Title"], [], ["score", "member"], *zip(_SCORES.tolist(), _BITS.tolist(), strict=True)],
        [["a", "b"], ["1,5", True], ["2,25", False], ["4", None], ["#N/A", True]],
    ):
        book, file = openpyxl.Workbook(), io.BytesIO()
        for row in rows:
            book.active.append(row)
        book.save(file)
        files.append(file.getvalue())
    return files


def _feather() -> list[bytes]:
    try:
        import pyarrow as pa
        import pyarrow.feather as feather
    except ImportError:
        return []
    table = pa.table({"score": _SCORES, "word": pa.array(["a"] * _ROWS).dictionary_encode()})
    files = []
    for compression in ("uncompressed", "lz4"):
        file = io.BytesIO()
        feather.write_feather(table, file, compression=compression)
        files.append(file.getvalue())
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table, max_chunksize=5)
    return [*files, stream.getvalue()]


def _survey_files() -> list[bytes]:
    try:
        import pandas as pd
        import pyreadstat
    except ImportError:
        return []
    frame = pd.DataFrame({"score": _SCORES, "member": _BITS.astype(float)})
    files = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, write in (("sav", pyreadstat.write_sav), ("dta", pyreadstat.write_dta)):
            path = Path(folder, f"t.{kind}")
            write(frame, str(path))
            files.append(path.read_bytes())
    return files


SEEDS = {
    "csv": _csv(),
    "numpy": _numpy(),
    "json": _json(),
    "parquet": _parquet(),
    "workbook": _workbooks(),
    "feather": _feather(),
    "survey": _survey_files(),
}
