"""``leakscore audit --watch``: rounds from streams and files that grow, and what is kept."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from leakscore.audit import Monitor
from leakscore.tradeoff import gaussian
from tests.helpers.audited import MEMBER, SCORES, parsed, run

CLAIM = ("--claimed-epsilon", 2)
LINES = [f"{score},{int(bit)}\n" for score, bit in zip(SCORES.tolist(), MEMBER, strict=True)]
HEAD = "score,member\n"
NOW = ("--watch", "--idle", 0)


def written(folder: Path, text: str, name: str = "r.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def watched(rounds: int, claim: object = (2.0, 1e-5), **options: object) -> Monitor:
    monitor = Monitor(claim, **{"design": "pairs", "delta": 1e-5} | options)
    monitor.update(SCORES[:rounds], MEMBER[:rounds])
    return monitor


def streamed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.mark.parametrize("bits", [(), ("--random-bits",), ("--random-bits", "--inclusion", 0.4)])
def test_evidence_is_that_of_the_library(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, bits: tuple
) -> None:
    path = written(tmp_path, HEAD + "".join(LINES[:300]))
    options = ("--claimed-epsilon", 6, "--delta", 1e-3, "--confidence", 0.9)
    found = parsed(capsys, path, *NOW, *options, *bits, code=3)
    given = {"design": "coins" if bits else "pairs", "inclusion": 0.4 if len(bits) > 1 else 0.5}
    monitor = watched(300, (6.0, 1e-3), delta=1e-3, confidence=0.9, **given)
    assert found["evidence"] == {
        "rounds": 300,
        "waiting": monitor.waiting,
        "log_e_value": monitor.log_e_value,
        "p_value": monitor.p_value,
        "epsilon": monitor.epsilon(),
        "delta": 1e-3,
    }
    assert found["assumptions"] == list(monitor.assumptions)
    assert found["design"] == given["design"]


def test_it_ends_when_the_claim_is_refuted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, HEAD + "\n\n".join(LINES))  # blank lines are no rounds
    state = tmp_path / "state"
    found = parsed(capsys, path, "--watch", *CLAIM, "--state", state, code=2)  # the file may grow
    rounds = found["evidence"]["rounds"]
    assert 64 < rounds < 500
    assert watched(rounds).refuted
    assert not watched(rounds - 1).refuted
    counted = json.loads(state.read_text())["counted"]
    assert path.read_bytes()[:counted].endswith(LINES[rounds - 1].encode())
    streamed(monkeypatch, HEAD + "".join(LINES))
    code, text, _ = run(capsys, "-", "--watch", *CLAIM)
    assert code == 2
    assert f"is REFUTED after {rounds} rounds" in text
    assert text.splitlines()[0].split()[:4] == ["rounds", "members", "e-value", "p-value"]
    lines = [line.split() for line in text.split("\n\n")[0].splitlines()[1:]]
    assert [int(line[0]) for line in lines] == sorted({int(line[0]) for line in lines})
    for line in lines:
        monitor = watched(int(line[0]))
        assert float(line[2]) == pytest.approx(monitor.e_value, rel=1e-3)
        assert monitor.p_value <= float(line[3]) <= monitor.p_value * 1.01


def test_verdicts_without_refutation(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    none = written(tmp_path, HEAD + "".join(f"{i % 7},{i % 2}\n" for i in range(400)))
    assert run(capsys, none, *NOW, *CLAIM, "--quiet")[0] == 0
    assert run(capsys, none, *NOW, "--claimed-epsilon", 8, "--quiet")[0] == 3  # too few rounds
    assert run(capsys, none, *NOW, "--claimed-mu", 1, "--quiet")[0] == 0
    assert parsed(capsys, none, *NOW)["verdict"] is None
    same = written(tmp_path, HEAD + "2,1\n2,0\n" * 200, "same.csv")
    assert run(capsys, same, *NOW, *CLAIM)[0] == 3
    empty = written(tmp_path, HEAD, "empty.csv")
    assert run(capsys, empty, *NOW, *CLAIM)[0] == 3
    path = written(tmp_path, HEAD + "".join(LINES))
    found = parsed(capsys, path, "--watch", "--claimed-mu", 1, code=2)["evidence"]
    assert found["p_value"] == watched(found["rounds"], gaussian(1.0)).p_value


def test_it_goes_on_where_it_was(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    state = tmp_path / "state"
    options = (*NOW, "--claimed-epsilon", 5, "--state", state)
    path = tmp_path / "r.csv"
    for rounds in (0, 1, 90, 90, 300):
        path.write_text(HEAD + "".join(LINES[:rounds]) + "0.12")  # a line without its end
        code, text, _ = run(capsys, path, *options)
        assert code == 3
        assert "no end and was not counted" in text
    path.write_text(HEAD + "".join(LINES))
    found = parsed(capsys, path, *options, code=3)
    assert found["evidence"]["log_e_value"] == watched(600, (5.0, 1e-5)).log_e_value
    assert found["evidence"]["rounds"] == 600
    whole = parsed(capsys, path, *NOW, "--claimed-epsilon", 5, code=3)
    assert whole == found
    path.write_text(HEAD + "".join(LINES).replace("1", "2", 1))
    assert "is another file" in run(capsys, path, *options)[2]
    path.write_text(HEAD)
    assert "shorter than it was" in run(capsys, path, *options)[2]


def test_streams_go_on_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    options = ("-", "--watch", "--claimed-epsilon", 5, "--state", state)
    for part in (LINES[:200], LINES[200:]):
        streamed(monkeypatch, HEAD + "".join(part).removesuffix("\n"))
        found = parsed(capsys, *options, code=3)
    assert found["evidence"]["log_e_value"] == watched(600, (5.0, 1e-5)).log_e_value
    assert "begun with a stream" in run(capsys, written(tmp_path, HEAD), *NOW, *options[2:])[2]


@pytest.mark.parametrize(
    ("option", "named"),
    [
        (("--claimed-epsilon", 4), "claim"),
        (("--claimed-epsilon", 5, "--confidence", 0.9), "confidence"),
        (("--claimed-epsilon", 5, "--random-bits"), "design"),
        (("--claimed-epsilon", 5, "--lower-is-member"), "sign"),
        (("--claimed-epsilon", 5, "--delta", 0), "claim, delta"),
    ],
)
def test_a_state_of_other_options_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, option: tuple, named: str
) -> None:
    path, state = written(tmp_path, HEAD + "".join(LINES[:50])), tmp_path / "state"
    run(capsys, path, *NOW, "--claimed-epsilon", 5, "--state", state)
    before = state.read_bytes()
    code, _, told = run(capsys, path, *NOW, *option, "--state", state)
    assert code == 1
    assert "begun with another" in told
    assert named in told
    assert state.read_bytes() == before


def test_states_that_are_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, state = written(tmp_path, HEAD + "".join(LINES[:50])), tmp_path / "state"
    run(capsys, path, *NOW, *CLAIM, "--state", state)
    good = json.loads(state.read_text())
    bad = [{}, [], 3, good | {"monitor": "x"}, good | {"counted": -1}, good | {"scores": [1]}]
    bad += [good | {"perfect": good["monitor"][:-8]}, good | {"what": "?"}, good | {"columns": 1}]
    for text in (*map(json.dumps, bad), "{", "\x80\x04"):
        state.write_text(text)
        code, _, told = run(capsys, path, *NOW, *CLAIM, "--state", state)
        assert (code, text if len(told) < 20 else "") == (1, "")
    state.unlink()
    assert "cannot write" in run(capsys, path, *NOW, "--state", tmp_path)[2]
    assert "cannot write" in run(capsys, path, *NOW, "--state", path)[2]


def started(path: Path, *options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "leakscore", "audit", path, "--watch", *options]
    # A shell's background job ignores Ctrl-C, and what it starts would inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [str(part) for part in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_file_that_grows_and_an_interruption(tmp_path: Path) -> None:
    path, state = written(tmp_path, HEAD), tmp_path / "state"
    options = (*CLAIM, "--state", state)
    with started(path, *options) as process, path.open("a") as file:
        assert process.stdout is not None
        file.writelines(LINES[:70])
        file.flush()
        process.stdout.readline()
        assert process.stdout.readline().split()[0] in ("63", "64", "70")
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        text, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (130, "leakscore: interrupted\n")
    assert "More rounds may follow" in text or "more rounds may follow" in text
    with started(path, *options) as process, path.open("a") as file:
        for line in LINES[70:]:
            if process.poll() is not None:
                break
            file.write(line)
            file.flush()
            time.sleep(0.01)
        text, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (2, "")
    rounds = int(text.split("is REFUTED after")[1].split()[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert watched(rounds).refuted
    assert not watched(rounds - 64).refuted


def test_an_interruption_within_a_block(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept is whole: the block that was being counted is counted by both monitors."""
    path, state = written(tmp_path, HEAD + "".join(LINES)), tmp_path / "state"
    options = (*NOW, "--claimed-epsilon", 5, "--state", state)
    update = Monitor.update

    def interrupted(monitor: Monitor, *rounds: object) -> None:
        if monitor.rounds == 127:
            signal.raise_signal(signal.SIGINT)
        update(monitor, *rounds)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with monkeypatch.context() as patched:
        patched.setattr(Monitor, "update", interrupted)
        code, text, _ = run(capsys, path, *options)
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler
    assert (code, "191, " in text) == (130, True)
    found = parsed(capsys, path, *options, code=3)["evidence"]
    assert found["log_e_value"] == watched(600, (5.0, 1e-5)).log_e_value
