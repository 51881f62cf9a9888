"""Any command may be the load: its output, its exit code, its environment and its end are its own."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sanpath.cli.sessions.child_process import environment
from sanpath.diagnose import judge_recording
from sanpath.masking import masked_bytes, masked_words
from sanpath.recorder.loads.spool import Spool
from sanpath.recording.reading.recording import Recording
from tests.collectors.diskspd.test_processors import TEXT as DISKSPD_TEXT
from tests.recorder.processes import Run, is_alive, sanpath, wait_for

ALL_BYTES = bytes(range(256)) * 8


def script(folder: Path, text: str, name: str = "load.py") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_output_and_errors_are_kept_byte_for_byte(start: Callable[..., Run]) -> None:
    text = f"import sys; b = {ALL_BYTES!r}; sys.stdout.buffer.write(b); sys.stderr.buffer.write(b[::-1])"
    run = start("--", sys.executable, "-c", text)
    assert run.end() == 0, run.err.read_text(errors="replace")
    (output,) = run.recording.glob("load/*/output")
    (errors,) = run.recording.glob("load/*/errors")
    assert output.read_bytes() == ALL_BYTES
    assert errors.read_bytes() == ALL_BYTES[::-1]
    assert ALL_BYTES in run.err.read_bytes()
    assert ALL_BYTES[::-1] in run.err.read_bytes()
    assert ALL_BYTES not in run.out.read_bytes()


def test_a_load_in_python_finds_its_own_modules_and_not_ours(tmp_path: Path) -> None:
    script(tmp_path, "NAME = 'mine'", name="helper.py")
    load = script(tmp_path, "import os, helper; print(helper.NAME, os.environ['PYTHONPATH'])")
    done = sanpath("run", "--into", "r.sanpath", "--", sys.executable, load, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (output,) = tmp_path.glob("r.sanpath/load/*/output")
    assert output.read_text() == f"mine {environment()['PYTHONPATH']}\n"


@pytest.mark.parametrize(("ending", "code"), [("sys.exit(3)", 3), ("os.kill(os.getpid(), 9)", 137)])
def test_a_load_that_fails_is_exit_code_4_and_its_own_is_said(tmp_path: Path, ending: str, code: int) -> None:
    load = script(tmp_path, f"import os, sys\n{ending}")
    done = sanpath("run", "--into", "r.sanpath", "--format=json", "--", sys.executable, load, cwd=tmp_path)
    assert done.returncode == 4
    assert f"sanpath: the load command ended with exit code {code}\n" in done.stderr
    assert json.loads(done.stdout)["run"]["load_exit_code"] == code


@pytest.mark.parametrize("placed_elsewhere", [False, True])
def test_how_busy_the_processors_were_is_of_the_machine_that_runs_the_load(
    tmp_path: Path, placed_elsewhere: bool
) -> None:
    load = tmp_path / "diskspd"
    load.write_text(f"#!{sys.executable}\nprint({DISKSPD_TEXT.format(core='99.00', mean='26.25')!r})\n")
    load.chmod(0o755)
    place = "topology:\n  links:\n    - load:diskspd runs_on host:w7\n"
    (tmp_path / "sanpath.yaml").write_text(place if placed_elsewhere else "{}\n")
    done = sanpath("run", "--into", "r.sanpath", "--format=json", "--", str(load), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    facts, _ = judge_recording(Recording(tmp_path / "r.sanpath"))
    ratios = {row["entity"]: row["busiest_core_ratio"] for row in facts.tables["host"].select()}
    assert ratios == ({} if placed_elsewhere else {f"host:{platform.node()}": pytest.approx(0.99)})


def test_a_load_that_sanpath_ends_after_its_time_has_not_failed(tmp_path: Path) -> None:
    done = sanpath("run", "--into", "r.sanpath", "--for=1", "--format=json", "--", "sleep", "500", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)["run"]
    assert (run["complete"], run["load_exit_code"]) == (True, None)
    (ended,) = [e for _, e in Recording(tmp_path / "r.sanpath").events() if e.name == "load-ended"]
    assert ended.detail["exit_code"] == 130


def test_a_command_that_does_not_exist_leaves_nothing_behind(tmp_path: Path) -> None:
    done = sanpath("run", "--", "nosuchload", "--fast", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "sanpath: nosuchload: there is no such command, or it may not be executed\n"
    assert list(tmp_path.iterdir()) == []


def test_a_reader_can_be_named_and_its_file_is_followed(tmp_path: Path) -> None:
    document = {"jobs": [{"jobname": "a", "read": {"total_ios": 5, "runtime": 1000}}]}
    load = script(tmp_path, f"open('F', 'w').write({json.dumps(document, indent=1)!r} + '\\n'); print('done')")
    (tmp_path / "F").write_text("of an earlier run\n")
    words = ("--load=fio", "--format=json", "--", sys.executable, load, "--output=F")
    done = sanpath("run", "--into", "r.sanpath", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [step["name"] for step in json.loads(done.stdout)["steps"]] == ["a"]
    (kept,) = tmp_path.glob("r.sanpath/load/*/output-file")
    assert kept.read_bytes() == (tmp_path / "F").read_bytes()
    (output,) = tmp_path.glob("r.sanpath/load/*/output")
    assert output.read_text() == "done\n"


def test_passwords_in_addresses_are_not_recorded(tmp_path: Path) -> None:
    uri = "--uri=nbd://operator:swordfish@10.0.0.2/x"
    done = sanpath("run", "--into", "r.sanpath", "--", "true", uri, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert Recording(tmp_path / "r.sanpath").load_command == ["true", "--uri=nbd://operator:***@10.0.0.2/x"]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"swordfish" in path.read_bytes()]


def test_no_secret_of_fio_is_recorded(tmp_path: Path, fio: str) -> None:
    options = ("--name=a", "--ioengine=null", "--size=4k", "--output-format=json")
    url = r"--filename=iscsi\://chapuser%swordfish@10.0.0.5/iqn.2026-01.lab\:t/0"
    done = sanpath("run", "--into", "r.sanpath", "--", fio, *options, url, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    command = Recording(tmp_path / "r.sanpath").load_command
    assert command[-1] == r"--filename=iscsi\://chapuser%***@10.0.0.5/iqn.2026-01.lab\:t/0"
    (output,) = tmp_path.glob("r.sanpath/load/*/output")
    assert "chapuser%*********@10.0.0.5" in output.read_text()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"swordfish" in path.read_bytes()]


@pytest.mark.parametrize(
    ("word", "masked"),
    [
        ("--http_s3_key=a secret", "--http_s3_key=***"),
        ("--http_pass=swordfish", "--http_pass=***"),
        ("iscsi://h/iqn?target_user=a&target_password=b", "iscsi://h/iqn?target_user=a&target_password=***"),
        (r"iscsi\://iqn.2026\:h%se/cret@h/iqn/0", r"iscsi\://iqn.2026\:***@h/iqn/0"),
        ("nbd://operator@10.0.0.2:10809/x@y", "nbd://operator@10.0.0.2:10809/x@y"),
        ("--http_s3_keyid=AKIA", "--http_s3_keyid=AKIA"),
        ("RBD_SECRET=my key", "RBD_SECRET=***"),
        ("fio --http_pass=a --bs=4k", "fio --http_pass=*** --bs=4k"),
    ],
)
def test_a_secret_in_a_load_command_is_masked(word: str, masked: str) -> None:
    assert masked_words([word]) == [masked]
    assert masked_words(["fio", "--http_pass", "a b", "x"]) == ["fio", "--http_pass", "***", "x"]


@pytest.mark.parametrize("text", ["iscsi://u:pàssword@10.0.0.5/x", "http_pass=pàss&word", '"http_pass": "pàss word"'])
def test_a_secret_in_any_encoding_is_masked_as_a_whole(text: str) -> None:
    masked = masked_bytes(text.encode())
    assert len(masked) == len(text.encode())
    assert b"ss" not in masked.replace(b"pass", b"")


def test_what_is_no_secret_is_kept() -> None:
    text = b'{"key": "value", "jobname": "pass"} keys=5 // a comment: 1 at 10 %'
    assert masked_bytes(text) == text


def test_a_secret_in_the_output_is_masked_wherever_a_write_ends(tmp_path: Path) -> None:
    printed = b'  "http_s3_key" : "sword\\"fish",\n  "filename" : "iscsi\\\\://u%swordfish@10.0.0.5/x"\n}'
    for cut in range(len(printed)):
        spool, copy = Spool(), tmp_path / f"{cut}"
        with copy.open("wb", buffering=0) as file:
            spool.write(printed[:cut])
            spool.copy(file.fileno(), ended=False)
            spool.write(printed[cut:])
            while spool.copy(file.fileno()):
                pass
        spool.close()
        assert b"sword" not in copy.read_bytes()
        assert len(copy.read_bytes()) == len(printed)


def test_processes_that_a_killed_load_leaves_behind_are_ended(start: Callable[..., Run]) -> None:
    # As fio's jobs do, the child leaves its parent's process group.
    run = start("--", "sh", "-c", "setsid sleep 500 & sleep 0.5; kill -9 $$")
    left = wait_for(run.load)
    assert run.end() == 4
    assert not [process for process in left if is_alive(process)]
