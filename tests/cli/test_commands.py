"""The command line as such: help is quick, what does not exist is named with what does."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import sanpath as sanpath_package
from sanpath import __version__
from sanpath.cli import app, main
from sanpath.cli.options import new_recording
from sanpath.cli.secrets import store_in_file
from sanpath.cli.sessions.child_process import environment
from sanpath.errors import command as written
from sanpath.recording.format import layout
from tests.recorder.processes import sanpath

HEAVY = ("duckdb", "numpy", "networkx", "textual", "h11", "pysnmp", "pyVmomi", "asyncssh")


def commands() -> list[list[str]]:
    """Every command and subcommand there is."""
    found: list[list[str]] = []
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        found.append([name])
        found += [[name, inner] for inner in getattr(command, "commands", {})]
    return found


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment(), capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("command", [[], *commands()], ids=" ".join)
def test_every_command_has_help(command: list[str]) -> None:
    result = CliRunner().invoke(app, [*command, "--help"])
    assert result.exit_code == 0, result.output
    assert "Usage:" in result.stdout
    listed = result.stdout.partition("\nCommands:\n")[2].splitlines()
    assert not [line for line in listed if line.endswith("...")], "a summary is cut at 80 columns: give a short_help"
    assert result.stderr == ""


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], []], ids=" ".join)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from sanpath.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    assert python(code, *arguments).stderr.splitlines()[-1] == "[]"


def test_a_folder_among_the_collectors_is_listed_without_another_edit(tmp_path: Path) -> None:
    (tmp_path / "brand_new").mkdir()
    (tmp_path / "brand_new" / "__init__.py").write_text(
        "from sanpath.plugin import Spec\n"
        "COLLECTOR = Spec(name='brand_new', title='A device of tomorrow', tables=())\n"
    )
    code = (
        "import sys, sanpath_collectors\n"
        f"sanpath_collectors.__path__.append({str(tmp_path)!r})\n"
        "from sanpath.cli import main\n"
        "main()\n"
    )
    listed = python(code, "collectors", "list")
    assert listed.returncode == 0, listed.stderr
    assert "brand_new" in listed.stdout
    assert "A device of tomorrow" in listed.stdout
    assert "snmp_switch" in listed.stdout
    assert "brand_new: A device of tomorrow" in python(code, "collectors", "show", "brand_new").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["collectors", "show", "snmpswitch"], ["no collector is called 'snmpswitch'", "did you mean snmp_switch?"]),
        (["collectors", "show", "zzz"], ["no collector is called 'zzz'", "there are: ", "flasharray"]),
        (["rules", "show", "link-ful"], ["no rule is called 'link-ful'", "did you mean 'link-full'?"]),
        (["diagnose", "nowhere.sanpath"], ["nowhere.sanpath: there is no such recording"]),
        (["report", "."], ["is not a sanpath recording"]),
        (["run", "--load", "fio"], ["--load names the reader of a load command"]),
        (["run", "--load", "snmp_switch", "--", "true"], ["snmp_switch does not read the output of load commands"]),
        (["run", "--", "fio", "--client=h1", "job.fio"], ["fio --client gives nothing before its end"]),
        (["run", "--", "fio", "-"], ["a load has no standard input", "fio job.fio"]),
        (["rules", "show", "qqq"], ["no rule is called 'qqq'", "sanpath rules list"]),
        (["rules", "test", "nowhere"], ["nowhere: no such file or folder"]),
        (["rules", "list", "--rules", "nowhere"], ["nowhere: no such file or folder"]),
        (["lab", "serve", "nothing"], ["no scenario nothing", "four-gigabit-switch"]),
        (["whatif", "r.sanpath", "--relieve", "--format", "html"], ["'html' is not one of 'text', 'json'"]),
        (["report", "r.sanpath", "--format", "pdf"], ["'pdf' is not one of", "report --help"]),
        (["diagnose"], ["missing argument 'RECORDING'", "diagnose --help"]),
        (["diagnose", "r.sanpath", "--cluster", "nowhere"], ["--cluster nowhere: write the address"]),
        (["qqq"], ["no such command 'qqq'"]),
    ],
    ids=lambda words: " ".join(words),
)
def test_what_does_not_exist_is_one_line_and_exit_code_2(
    tmp_path: Path,
    arguments: list[str],
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["sanpath", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    printed, said = capfd.readouterr()
    assert (ended.value.code, printed) == (2, ""), said
    assert said.startswith("sanpath: ")
    assert said.count("\n") == 1
    assert not [word for word in words if word not in said]
    assert list(tmp_path.iterdir()) == []


def test_a_recording_of_a_newer_sanpath_is_not_touched(tmp_path: Path) -> None:
    folder = tmp_path / "new.sanpath"
    folder.mkdir()
    manifest = {"run_id": "1", "format": 2, "tool_version": "9.1", "started": "2031-01-01"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    before = (folder / "manifest.json").read_bytes()
    for words in (["run", "--into", "new.sanpath", "--", "true"], ["diagnose", "new.sanpath"]):
        done = sanpath(*words, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert "written by sanpath 9.1 in format 2" in done.stderr
        assert "install a newer sanpath" in done.stderr
        assert done.stderr.count("\n") == 1
    assert (folder / "manifest.json").read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize("into", ["home", "home/thesis.txt"])
def test_nothing_is_recorded_over_what_is_no_recording(tmp_path: Path, into: str) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("mine")
    done = sanpath("run", "--into", into, "--", "true", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "choose another folder with --into" in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["thesis.txt"]
    assert (tmp_path / "home" / "thesis.txt").read_text() == "mine"


def test_a_time_that_cannot_be_kept_is_one_line_and_records_nothing(tmp_path: Path) -> None:
    done = sanpath("run", "--into", "r.sanpath", "--keep", "24", "--", "true", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "'24' is not a time: write minutes, hours or days, such as 90m, 24h or 7d" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "r.sanpath").exists()


@pytest.mark.parametrize(
    "number", [errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EIO, errno.ENOTDIR, errno.ECONNREFUSED, errno.EMFILE]
)
def test_an_error_of_the_operating_system_is_one_line_with_what_to_do(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(**_: object) -> None:
        raise OSError(number, os.strerror(number), "/srv/a.sanpath/writers")

    monkeypatch.setattr("sanpath.cli.app", fails)
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert re.fullmatch(r"sanpath: /srv/a\.sanpath/writers: [a-z][^\n]*; [a-z][^\n]*\n", said), said


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("words", [["rules", "list"], ["--version"]])
def test_an_output_that_is_full_is_one_line(words: list[str]) -> None:
    arguments = [sys.executable, "-m", "sanpath", *words]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            arguments, env=environment(), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    remedy = "free space there, or choose another place"
    assert done.stderr == f"sanpath: the output: no space left on device; {remedy}\n"


@pytest.mark.parametrize("words", [["rules", "list"], ["lab", "list"], ["rules", "show", "link-full"]])
def test_an_output_whose_reader_has_gone_is_silent(words: list[str]) -> None:
    """As in `sanpath lab list | head -1`."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    arguments = [sys.executable, "-m", "sanpath", *words]
    done = subprocess.run(arguments, env=environment(), stdout=write_end, stderr=subprocess.PIPE, check=False)
    os.close(write_end)
    assert done.stderr == b""


def test_names_of_files_do_not_reach_the_terminal_as_they_are(tmp_path: Path) -> None:
    """Whoever packed them has chosen them: an escape sequence could set the title, or colour what follows."""
    name = "a\x1b]0;title\x07\x1b[31m.csv"
    (tmp_path / name).write_text("entity,quantity,value,source\narray:fa1,price,1 EUR,offer\n", encoding="utf-8")
    taken = sanpath("import", name, "--into", "a.sanpath", cwd=tmp_path)
    assert (taken.returncode, "figures" in taken.stdout) == (0, True), taken.stderr
    (tmp_path / name).write_text("nothing", encoding="utf-8")
    refused = sanpath("import", name, "--into", "b.sanpath", cwd=tmp_path)
    assert refused.returncode == 2
    (tmp_path / "a.sanpath" / "events" / f"{name}.parquet").write_text("foreign", encoding="utf-8")
    redacted = sanpath("redact", "a.sanpath", "c.sanpath", cwd=tmp_path)
    assert redacted.stdout.count("left out: ") == 2, "the foreign file, and the file that was imported"
    for done in (taken, refused, redacted):
        assert not re.search("[\x1b\x07]", done.stdout + done.stderr)


def test_a_recording_that_cannot_be_written_to_is_one_line(tmp_path: Path) -> None:
    layout.create(tmp_path / "a.sanpath")
    (tmp_path / "a.sanpath" / "writers").write_text("in the way")
    (tmp_path / "figures.csv").write_text("entity,quantity,value,source\narray:fa1,price,1 EUR,offer\n")
    done = sanpath("import", "figures.csv", "--into", "a.sanpath", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("sanpath: ")


def test_a_lab_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "lab").write_text("in the way")
    done = sanpath("lab", "serve", "slow-media", "--folder", "lab", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "choose another --folder" in done.stderr


def test_a_file_in_place_of_a_recording_is_to_be_imported(tmp_path: Path) -> None:
    (tmp_path / "my fio.json").write_text("{}")
    for words in (["diagnose"], ["report"], ["topology"], ["whatif", "--relieve"]):
        done = sanpath(*words, "my fio.json", cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr == "sanpath: my fio.json: is a file, not a recording: sanpath import 'my fio.json'\n"


def test_a_packed_recording_is_to_be_unpacked(tmp_path: Path) -> None:
    (tmp_path / "first.tgz").write_bytes(b"")
    done = sanpath("diagnose", "first.tgz", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "sanpath: first.tgz: is packed: unpack it, and name the folder in it\n"


def test_without_a_terminal_each_rule_is_one_line_with_its_whole_name(tmp_path: Path) -> None:
    lines = sanpath("rules", "list", cwd=tmp_path).stdout.splitlines()
    (full,) = (line for line in lines if line.split()[:1] == ["array-busy-with-others"])
    assert full.split()[-3:] == ["information", "low", "stable"]


def test_every_command_that_is_suggested_can_be_pasted() -> None:
    """Also where a path has spaces: a command with a path of its own is made in one place."""
    sources = [
        path
        for part in ("sanpath", "lab")
        for path in Path(sanpath_package.__file__).parents[1].glob(f"{part}/**/*.py")
    ]
    unquoted = re.compile(
        r"""f["'].*sanpath [a-z]+ (?:\S+ )*\{(?:self\.)?_?(?:\w+\.)?(?:into|folder|file|recording)\}"""
    )
    assert [path for path in sources if unquoted.search(path.read_text(encoding="utf-8"))] == []
    assert written("diagnose", Path("my test.sanpath")) == "sanpath diagnose 'my test.sanpath'"


def test_every_summary_of_the_help_is_whole(tmp_path: Path) -> None:
    done = sanpath("--help", cwd=tmp_path)
    assert done.returncode == 0
    listed = done.stdout.partition("Commands:")[2]
    assert "whatif" in listed
    assert "..." not in listed


def test_a_bug_report_can_say_which_sanpath_it_is() -> None:
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, done.output) == (0, f"sanpath {__version__}\n")


def test_issue_templates_ask_for_the_version() -> None:
    folder = Path(__file__).parents[2] / ".github" / "ISSUE_TEMPLATE"
    templates = [path for path in folder.glob("*.md") if "name:" in path.read_text()]
    assert templates
    assert [path.name for path in templates if "sanpath --version" not in path.read_text()] == []


def test_a_group_without_a_command_prints_its_help(tmp_path: Path) -> None:
    done = sanpath("collectors", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("Usage:")
    assert "list" in done.stderr


def test_ctrl_c_while_the_command_starts_is_no_traceback() -> None:
    """Its modules are loaded then; Python would report where it was."""
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "sanpath", "--version"], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    with process, process.stderr as loaded:
        next(line for line in loaded if "typer" in line)
        process.send_signal(signal.SIGINT)
        assert "Traceback" not in loaded.read()
    assert process.returncode == -signal.SIGINT


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), RuntimeError("Query interrupted")])
def test_ctrl_c_is_no_traceback_also_in_a_query(
    raised: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """DuckDB raises an error of its own for it."""

    def command(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("sanpath.cli.app", command)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == ""


def test_an_account_without_a_home_directory_is_told_what_to_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A container may run as a user of whom it knows only the number."""
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr("sanpath.cli.app", lambda **_: store_in_file("sw1", "community", "secret", []))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == "sanpath: this account has no home directory; set HOME to a folder\n"


def test_duckdb_says_what_is_taken_for_ctrl_c() -> None:
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    with duckdb.connect() as connection, pytest.raises(RuntimeError, match=r"^Query interrupted$"):
        connection.execute("SELECT count(*) FROM range(1000000) a, range(1000000) b").fetchall()


def test_two_runs_of_one_second_are_two_recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of two lines of a crontab: in one recording they would be judged as one test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.strftime", lambda _form: "20260131-140000")
    with new_recording(None) as first, new_recording(None) as second:
        assert first == tmp_path / "20260131-140000.sanpath"
        assert second == tmp_path / "20260131-140000-2.sanpath"
        (second / "manifest.json").touch()
    assert list(tmp_path.iterdir()) == [second], "what holds no recording is removed"


def test_a_run_that_is_refused_leaves_no_folder(tmp_path: Path) -> None:
    refused = sanpath("run", "--", "no-such-program", cwd=tmp_path)
    assert refused.returncode == 2
    assert list(tmp_path.iterdir()) == []
