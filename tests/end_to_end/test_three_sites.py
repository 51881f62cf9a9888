"""Three recorders in three network namespaces write one recording into an S3-compatible store. The one of the
switches has a clock that is 37 s ahead, is killed in the middle of a step, and is started again."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.end_to_end.namespaces import HUB, Namespaces, namespaces, output_of, sanpath, until

pytestmark = pytest.mark.slow

SECRET = "no-recording-may-hold-this"
STORE = {
    "AWS_ACCESS_KEY_ID": "tester",
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_ENDPOINT_URL": f"http://{HUB}:5000",
    "AWS_EC2_METADATA_DISABLED": "true",
}
URL = "s3://load-tests/three-sites.sanpath"
AHEAD_SECONDS = 37.0
STEPS = {"threads": [8, 64], "ramp_seconds": 1, "measured_seconds": 20, "gap_seconds": 1}
"""The recorder is killed in the first of the steps; the one that decides is whole on a busy machine too."""

CLOCK = f"""
import time
wall_ns, wall = time.time_ns, time.time
time.time_ns = lambda: wall_ns() + {int(AHEAD_SECONDS * 1e9)}
time.time = lambda: wall() + {AHEAD_SECONDS}
"""


@dataclass
class Outcome:
    """What came of it. `gone`, `back`: when the recorder of the switches was killed and started again, epoch
    seconds."""

    diagnosis: dict[str, Any]
    calm: dict[str, Any]
    gone: float
    back: float
    sites: Mapping[str, subprocess.Popen[str]]
    folder: Path
    made: Namespaces


def listed(made: Namespaces, below: str) -> list[str]:
    listing = f"fsspec.filesystem('s3').ls('load-tests/three-sites.sanpath/{below}', detail=False)"
    return made.run("hub", [sys.executable, "-c", f"import fsspec; print(*{listing})"], STORE).stdout.split()


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    for package in ("moto", "flask", "flask_cors", "s3fs"):
        pytest.importorskip(package)
    folder = tmp_path_factory.mktemp("three-sites")
    with namespaces(folder, "load", "switches", "array") as made:
        yield recorded(folder, made)


def recorded(folder: Path, made: Namespaces) -> Outcome:
    made.start("hub", [sys.executable, "-m", "moto.server", "-H", HUB, "-p", "5000"], "store", {})
    result = files("sanpath_lab") / "scenarios" / "four-gigabit-switch.yaml"
    scenario = yaml.safe_load(result.read_text(encoding="utf-8"))
    scenario["load"] |= STEPS
    (folder / "short.yaml").write_text(yaml.safe_dump(scenario))
    serve = [sys.executable, "-m", "sanpath_lab", "serve", "short.yaml", "--address", HUB, "--folder"]
    lab, other = (
        output_of(made.start("hub", [*serve, name], name, {}, subprocess.PIPE)) for name in ("lab", "calm-lab")
    )
    make = "import fsspec; fsspec.filesystem('s3').mkdir('load-tests')"
    until(lambda: made.run("hub", [sys.executable, "-c", make], STORE).returncode == 0, "store")

    # Site by site: the load has no device to read, the others read one each.
    config = str(lab["config"])
    whole = yaml.safe_load(Path(config).read_text(encoding="utf-8"))
    (folder / "load.yaml").write_text(yaml.safe_dump({"topology": whole["topology"]}))
    (folder / "ahead").mkdir()
    (folder / "ahead" / "sitecustomize.py").write_text(CLOCK)
    ahead = STORE | {"PYTHONPATH": f"{folder / 'ahead'}:{':'.join(p for p in sys.path if p)}"}

    def record(site: str, log: str, *words: str, more: Mapping[str, str] = STORE) -> subprocess.Popen[str]:
        return made.start(site, sanpath("run", "--into", URL, "--writer", f"site-{site}", *words), log, more)

    of_switches = ("--config", config, "--only-sources", "sw1")
    record("switches", "switches-1", *of_switches, more=ahead)
    sites = {"array": record("array", "array", "--config", config, "--only-sources", "fa1")}
    until(lambda: len(listed(made, "polls")) >= 2, "polls of two sites")
    load = [str(word) for word in lab["load"]]
    sites["load"] = record("load", "load", "--config", "load.yaml", "--load", "fio", "--", *load)
    calm = ["--config", str(other["config"]), "--into", "calm.sanpath", "--load", "fio", "--format", "json", "--"]
    single = made.start("hub", sanpath("run", *calm, *map(str, other["load"])), "calm", {})
    until(lambda: listed(made, "samples/load"), "samples of the load")
    gone = time.time()
    made.kill("switches")
    time.sleep(4)
    back = time.time()
    sites["switches"] = record("switches", "switches-2", *of_switches, more=ahead)
    for name, process in (*sites.items(), ("calm", single)):
        assert process.wait(90) == 0, (folder / f"{name}.err").read_text()
    done = made.run("hub", sanpath("diagnose", URL, "--format", "json"), STORE)
    assert done.returncode == 0, done.stderr
    return Outcome(
        json.loads(done.stdout), json.loads((folder / "calm.out").read_text()), gone, back, sites, folder, made
    )


def seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


def test_the_verdict_is_that_of_a_calm_run_of_one_recorder(outcome: Outcome) -> None:
    found, calm = outcome.diagnosis["verdict"], outcome.calm["verdict"]
    assert (calm["kind"], calm["bottlenecks"][0]["kind"]) == ("bottleneck", "link")
    assert found["kind"] == calm["kind"]
    for key in ("entity", "kind", "layer", "direction", "coincident"):
        assert found["bottlenecks"][0][key] == calm["bottlenecks"][0][key]
    assert found["grade"] == calm["grade"]
    assert found["bottlenecks"][0]["utilisation"] == pytest.approx(calm["bottlenecks"][0]["utilisation"], abs=0.01)


def test_every_site_has_its_place_in_one_recording(outcome: Outcome) -> None:
    recorders = {who["name"]: who for who in outcome.diagnosis["recorders"]}
    assert {name: who["sources"] for name, who in recorders.items()} == {
        "site-load": ["fio"],
        "site-switches": ["sw1"],
        "site-array": ["fa1"],
    }
    assert {name: who["starts"] for name, who in recorders.items()} == {
        "site-load": 1,
        "site-switches": 2,
        "site-array": 1,
    }
    assert all(who["ended"] for who in recorders.values())
    assert {s["name"]: s["recorder"] for s in outcome.diagnosis["sources"]} == {
        "fio": "site-load",
        "sw1": "site-switches",
        "fa1": "site-array",
    }


def test_the_gap_has_a_name_and_its_times(outcome: Outcome) -> None:
    who = next(w for w in outcome.diagnosis["recorders"] if w["name"] == "site-switches")
    (gap,) = who["absences"]
    assert (gap["way"], gap["sources"]) == ("restarted", ["sw1"])
    # What had not been flushed when it was killed went with it.
    assert seconds(who["began"]) < seconds(gap["since"]) <= outcome.gone + 1
    assert outcome.back - 1 < seconds(gap["until"]) < seconds(outcome.diagnosis["run"]["end"])
    named = [u for u in outcome.diagnosis["unobserved"] if u["what"].startswith("sw1 from")]
    assert [u["why"] for u in named] == ["the recorder site-switches was killed or cut off, and started again"]
    assert not any(w["absences"] for w in outcome.diagnosis["recorders"] if w["name"] != "site-switches")


def test_the_clock_that_is_ahead_is_told(outcome: Outcome) -> None:
    for who in outcome.diagnosis["recorders"]:
        ahead = AHEAD_SECONDS if who["name"] == "site-switches" else 0.0
        within = max(who["clock_uncertainty_seconds"], 0.01)
        assert within < 1.5
        assert who["clock_offset_seconds"] == pytest.approx(ahead, abs=within)


def test_the_sites_without_a_load_ended_with_it(outcome: Outcome) -> None:
    assert {name: process.returncode for name, process in outcome.sites.items()} == {
        "array": 0,
        "load": 0,
        "switches": 0,
    }


def test_other_views_read_the_store_too(outcome: Outcome) -> None:
    watched = outcome.made.run("array", sanpath("watch", URL, "--plain"), STORE)
    assert watched.returncode == 0, watched.stderr
    assert "fc1/7" in watched.stdout
    reported = outcome.made.run("array", sanpath("report", URL), STORE)
    assert reported.returncode == 0, reported.stderr


def test_no_secret_of_the_store_is_kept_or_said(outcome: Outcome) -> None:
    program = (
        "import fsspec; s = fsspec.filesystem('s3'); found = s.find('load-tests'); assert len(found) > 20; "
        f"print(any({SECRET!r}.encode() in s.cat_file(f) for f in found))"
    )
    assert outcome.made.run("hub", [sys.executable, "-c", program], STORE).stdout.strip() == "False"
    for file in outcome.folder.glob("*.*"):
        if file.is_file():
            assert SECRET.encode() not in file.read_bytes(), file


def test_a_store_that_cannot_be_used_is_one_line(outcome: Outcome) -> None:
    for more in (
        {**STORE, "AWS_ENDPOINT_URL": f"http://{HUB}:5999"},
        {name: value for name, value in STORE.items() if "KEY" not in name},
    ):
        done = outcome.made.run("array", sanpath("run", "--into", URL, "--for", "1", "--", "true"), more)
        assert done.returncode == 2
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
        assert done.stderr.startswith(f"sanpath: {URL}: ")
