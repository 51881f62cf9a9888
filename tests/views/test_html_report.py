"""The HTML report: what a reader finds in it, that nothing is fetched, and that no name becomes markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from dataclasses import replace
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sanpath.cli.options import Format
from sanpath.cli.output import diagnosis_of, render_diagnosis
from sanpath.diagnosis.model import Latency
from sanpath.diagnosis.sources import Mark
from sanpath.facts.chart_series import series
from sanpath.recording.reading.recording import Recording
from sanpath.recording.writing.mark import add_mark
from sanpath.topology.resolve import resolve
from sanpath.views.html import percentiles
from sanpath.views.html.page import render
from sanpath.views.html.path_graph import path_graph
from tests.support.recording import RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.sites import Life, Site, split
from tests.support.stories import COUNTED, NOTHING, STORIES, X, diagnosed, judged, published, recorded

VOID = {"meta", "br", "img", "link", "input", "hr"}
NASTY = (
    " </script><script>alert(1)</script><img src=x onerror=alert(2)>\"'><b>&lt; {{7*7}} \u202e\u200b\x1b[2J\r\n <!--"
)


class Page(HTMLParser):
    """What a browser makes of the page: elements in order, their attributes, the text of each."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self._open: list[str] = []
        self._in_text = self._in_unbroken = False
        self.feed(html)
        assert self._open == [], "elements that are never closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._in_unbroken = ("class", "unbroken") in attrs
        self._in_text &= self._in_unbroken
        if tag in self.raw:
            self.raw[tag].append("")
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        self._in_text &= self._in_unbroken
        self._in_unbroken = False

    def handle_data(self, data: str) -> None:
        inside = self._open[-1] if self._open else ""
        if inside in self.raw:
            self.raw[inside][-1] += data
        elif self._in_text:  # a number with its unit, and what follows, go on with the line
            self.text[-1] += data
        else:
            self.text.append(data)
            self._in_text = True

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == name]

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.text))


def page_of(name: str) -> str:
    recording = recorded(name)
    topology = resolve(recording.inventory())
    path = [element.entity for element in diagnosed(name).summary.path]
    return render(diagnosed(name), topology, series(recording, topology, path=path))


@pytest.fixture(scope="module")
def html() -> str:
    return page_of("published")


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_the_first_screen_is_read_first_and_then_what_people_ask(page: Page) -> None:
    after_title = page.words.partition("Dark")[2]
    order = [
        "Confidence A",
        "4 Gb/s link esx7 vmhba2–sw1 fc1/7 is saturated (98 % utilised, reads)",
        "From 16 to 800 outstanding I/Os, throughput stays at 6,250 IOPS",
        "The array is not the problem: I/Os spend 0.35 ms of 128 ms in it",
        "LIMIT",
        "First action: Let the ports negotiate their full speed",
        "Expected gain:",
        "Verify",
        "All actions",
        "confidence A: high, right in at least",
        "Where the 128 ms go",
        "Evidence for link-full",
        "What was not measured",
        "415.2 MB/s counted",
        "snmp_switch",
    ]
    places = [after_title.index(order[0])]
    for words in order[1:]:
        places.append(after_title.index(words, places[-1]))
    assert places == sorted(places)
    headings = [tag for tag, _ in page.elements if tag in ("h1", "h2", "h3")]
    assert headings[0] == "h1"
    assert headings.count("h1") == 1


@pytest.mark.parametrize(
    "words",
    [
        "caused by esx7/vmhba2 - sw1/fc1/7",
        "in no measured part",
        "takes one path down",
        "switchport speed auto",
        "below 16 outstanding I/Os, the fewest tested",
        "409.6 MB/s 412.7 MB/s 99.2 %",
        "Evidence for link-full",
        "full windows ratio 100.0 %",
        "fa1 up to 409.6 MB/s",
        "credit stall",
        "would change the verdict",
        "another path that carries bytes of the test",
        "snmp_switch",
        "no clock of its own",
        "capable_bits_per_second 8 Gb/s",
        "sw1: ifAlias",
    ],
)
def test_what_an_engineer_looks_for_is_there(page: Page, words: str) -> None:
    assert words in page.words


def test_the_drawing_shows_the_path_and_what_limits_on_it(page: Page) -> None:
    drawn = ["load fio", "VM sqlvm1", "host esx7", "HBA esx7/vmhba2", "switch sw1", "target port", "volume fa1/vol01"]
    evidence = page.words.partition("All paths")[2]
    places = [evidence.index(words) for words in drawn]
    assert places == sorted(places)
    assert page.words.count("LIMIT") >= 2
    assert [a for a in page.all("path") if a.get("class") == "edge limits"]
    assert "fio → sqlvm1 → esx7 → esx7/vmhba2 - sw1/fc1/7 (4GFC, read 97.7 %, LIMIT)" in page.words


def test_target_ports_that_share_a_switch_port_are_each_drawn_with_a_link_to_it(tmp_path: Path) -> None:
    virtual = replace(ARRAY_PORT, device="CT0.NPIV", wwpn="524a9370000000aa")
    recording = published(San(tmp_path, ports=[HOST_PORT, virtual, ARRAY_PORT]), in_flight=(16, 128)).write()
    topology, found = resolve(recording.inventory()), judged(recording)
    shared = "link:sw1/fc1/1--fa1/CT0.FC0"
    links = {key: edge.label for key, edge in path_graph(found, topology).edges.items() if key[0] == "switch:sw1"}
    assert links == {
        ("switch:sw1", f"array_port:fa1/{target}", shared): "fc1/1 4GFC" for target in ("CT0.FC0", "CT0.NPIV")
    }
    assert "target port fa1/CT0.NPIV" in Page(render(found, topology, series(recording, topology))).words


def test_a_full_queue_is_marked_at_the_machine_that_has_it() -> None:
    page = Page(page_of("guest_queue"))
    assert "sqlvm1/sda LIMIT" in page.words
    assert len([a for a in page.all("rect") if a.get("class") == "node limits"]) == 1
    assert not [a for a in page.all("path") if a.get("class") == "edge limits"]


def test_a_path_that_nobody_saw_is_drawn_as_not_seen() -> None:
    page = Page(page_of("switch_not_observed"))
    assert [a for a in page.all("path") if a.get("class") == "edge unseen"]
    assert "not measured" in page.words
    assert "First action: Repeat the test, and let sanpath read the switch ports" in page.words


def test_nothing_is_fetched_and_only_the_pages_own_script_may_run(page: Page) -> None:
    for tag, attributes in page.elements:
        assert not {"src", "srcset", "action", "data", "poster", "background", "style"} & set(attributes), tag
        assert not any(name.startswith("on") for name in attributes)
        assert (attributes.get("href") or "#").startswith("#")
    policy = next(a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    scripts = [a for a in page.all("script") if a.get("type") != "application/json"]
    assert len(scripts) == 1
    for texts in (page.raw["script"][-1:], page.raw["style"]):
        for text in texts:
            assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
    assert not re.search(r"@import|url\(", page.raw["style"][0])


def test_the_licence_of_what_is_embedded_is_embedded_too(page: Page) -> None:
    assert "Copyright (c) 2022 Leon Sorokin" in page.raw["script"][-1]


def test_charts_have_their_data_and_a_drawing_without_the_script(page: Page) -> None:
    data = json.loads(page.raw["script"][0])
    assert [chart["name"] for chart in data["charts"]] == ["throughput", "latency", "links", "hops"]
    for chart in data["charts"]:
        assert all(len(line["values"]) == len(data["moments"]) for line in chart["lines"])
    ids = {a.get("id") for _, a in page.elements}
    drawn = ("throughput", "latency", "links", "hops", "curve-throughput", "curve-latency", "topology", "finding-0")
    assert {f"chart-{name}-title" for name in drawn} <= ids


def test_the_strip_of_the_path_is_a_table_as_well(html: str) -> None:
    rows = {row[0]: row[1:] for row in rows_of(html, "Utilisation of each hop, by step")}
    assert rows["LIMIT: link esx7/vmhba2 - sw1/fc1/7, read"][1:] == ["98 %"] * 4
    assert rows["device sqlvm1/sda, queue"][1:] == ["50 %", "100 %", "100 %", "100 %"]
    assert rows["host esx7, processors"][0] == "not measured"


def test_percentiles_are_drawn_where_a_load_reports_them() -> None:
    """Two steps with all of them, and a third without: its points are missing, its place is there."""
    was = diagnosed("published")
    full = Latency(0.002, 0.0018, 0.004, 0.009, 0.05)
    steps = [
        replace(
            step,
            directions={
                "read": replace(step.directions["read"], latency_seconds=full if n < 2 else Latency(0.1, *[None] * 4))
            },
        )
        for n, step in enumerate(was.steps[:3])
    ]
    shown = replace(was, steps=steps)
    ((direction, chart, quantities),) = percentiles.drawings(shown)
    assert (direction, list(quantities)) == ("read", ["mean", "p50", "p95", "p99", "max"])
    assert chart.count("<circle") == 3 + 4 * 2
    assert percentiles.table(shown)[0][3:] == ["2.00 ms", "1.80 ms", "4.00 ms", "9.00 ms", "50.0 ms"]
    only_means = [
        replace(s, directions={"read": replace(s.directions["read"], latency_seconds=Latency(0.1, *[None] * 4))})
        for s in steps
    ]
    assert percentiles.drawings(replace(was, steps=only_means)) == []


def test_lines_are_told_apart_by_more_than_their_colour(html: str) -> None:
    dashes = re.findall(r"\.line-\d \{ stroke: var\(--line-\d\);( stroke-dasharray: [\d ]+;)? \}", html)
    assert len(dashes) == len(set(dashes)) == 8


@pytest.mark.parametrize("name", sorted(STORIES))
def test_every_story_is_one_sound_page(name: str) -> None:
    page = Page(page_of(name))
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert [i for i, n in Counter(ids).items() if n > 1] == []
    for _, attributes in page.elements:
        for target in (attributes.get("aria-labelledby") or "").split():
            assert target in ids
        link = attributes.get("href")
        assert link is None or link[1:] in ids
    for picture in page.all("svg"):
        assert picture.get("aria-hidden") or picture.get("aria-labelledby"), "a picture that says nothing"


def with_names(folder: Path, more: str) -> str:
    """A report in which steps, ports, sources and settings have something added to their names."""
    ports = [replace(HOST_PORT, name=f"fc1/7{more}"), replace(ARRAY_PORT, device=f"CT0{more}")]
    san = San(folder, ports=ports, about={"filename": more})
    counted = {p.name: (COUNTED, NOTHING) for p in ports}
    for n in (16, 128):
        san.step(f"{n}{more}", n, read=Flow(X, n / X), ports=counted, array={"read": AtArray(0.0004)})
    recording = san.write()
    found = judged(recording)
    sources = [replace(s, last_failure=more, name=s.name + more) for s in found.sources]
    marks = (Mark(found.steps[-1].end, more),)
    named = replace(found, sources=sources, run=replace(found.run, load_command=more), marks=marks)
    topology = resolve(recording.inventory())
    return render(named, topology, series(recording, topology))


def test_names_cannot_become_markup_or_script(tmp_path: Path) -> None:
    nasty, tame = with_names(tmp_path / "nasty", NASTY), with_names(tmp_path / "tame", " x" * (len(NASTY) // 2))
    assert "<script>alert(1)</script>" in Page(nasty).words, "shown, and not obeyed"
    shapes = [Counter((tag, *sorted(a)) for tag, a in Page(html).elements) for html in (nasty, tame)]
    assert shapes[0] == shapes[1]
    assert len(Page(nasty).all("script")) == 2
    assert not Page(nasty).all("img")
    drawn_from = json.loads(Page(nasty).raw["script"][0])
    assert drawn_from["steps"][0][0].startswith("16 </script>")
    assert drawn_from["marks"][0][0].startswith(" </script>")
    assert "49" not in re.findall(r"\{\{.{0,9}", Page(nasty).words)


def test_what_turns_or_hides_text_is_made_visible(tmp_path: Path) -> None:
    nasty = with_names(tmp_path / "nasty", NASTY)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", nasty)
    assert "\ufffd" in nasty


@pytest.mark.parametrize("left_out", [{"array"}, {"load"}, {"switch", "last_end"}, {"disk", "array_samples"}])
def test_a_partial_recording_still_gives_a_page(tmp_path: Path, left_out: set[str]) -> None:
    published(San(tmp_path / "part.sanpath", leave_out=left_out), in_flight=(16, 128)).write(ended=False)
    page = Page(render_diagnosis(diagnosis_of(tmp_path / "part.sanpath"), Format.html, tmp_path / "part.sanpath"))
    assert "The recording is not complete" in page.words


def test_an_empty_recording_says_that_nothing_was_seen(tmp_path: Path) -> None:
    RecordingBuilder(tmp_path / "empty.sanpath").write(ended=False)
    page = Page(render_diagnosis(diagnosis_of(tmp_path / "empty.sanpath"), Format.html, tmp_path / "empty.sanpath"))
    assert "No I/O of a load was recorded" in page.words
    assert "No source was read" in page.words
    assert "healthy" not in page.words.lower()
    assert not page.all("canvas")


def test_an_hour_of_many_ports_stays_below_two_megabytes(tmp_path: Path) -> None:
    others = [replace(HOST_PORT, name=f"fc2/{n}", wwpn=f"21000024ff1{n:05d}", host=f"esxb{n}") for n in range(198)]
    ports = [HOST_PORT, ARRAY_PORT, *others]
    san = San(tmp_path / "big", ports=ports, switch_every=60.0)
    counted = {p.name: (COUNTED, NOTHING) if p in ports[:2] else (40e6, 30e6) for p in ports}
    for n in (16, 800):
        san.step(f"t{n}", n, read=Flow(X, n / X), ports=counted, array={"read": AtArray(0.0004)}, seconds=1800)
    recording: Recording = san.write()
    topology = resolve(recording.inventory())
    html = render(judged(recording), topology, series(recording, topology))
    assert len(html.encode()) < 2_000_000
    assert "more links" in html


def test_what_was_marked_stands_in_the_charts_and_with_the_verdict(tmp_path: Path) -> None:
    published(San(tmp_path / "run.sanpath"), in_flight=(16, 128)).write(ended=False)
    second = diagnosis_of(tmp_path / "run.sanpath").steps[1]
    add_mark(
        tmp_path / "run.sanpath", round(datetime.fromisoformat(second.start).timestamp() * 1e6) + 5_000_000, "RR"
    )
    page = Page(render_diagnosis(diagnosis_of(tmp_path / "run.sanpath"), Format.html, tmp_path / "run.sanpath"))
    assert "Marks" in page.words
    assert "t128: before and after cannot be separated: 'RR' was marked 5 s into the step" in page.words
    (mark,) = json.loads(page.raw["script"][0])["marks"]
    assert mark[0] == "RR"
    assert len([a for a in page.all("line") if a.get("class") == "noted"]) >= 3


def test_a_day_is_one_page_of_the_same_size(tmp_path: Path) -> None:
    san = San(tmp_path / "day", switch_every=60.0, others_every=60.0, leave_out={"disk"})
    counted = {p.name: (COUNTED, NOTHING) for p in (HOST_PORT, ARRAY_PORT)}
    for n in (16, 64, 256, 800):
        san.step(f"t{n}", n, read=Flow(X, n / X), ports=counted, array={"read": AtArray(0.0004)}, seconds=21_600)
    html = render_diagnosis(judged(san.write()), Format.html, tmp_path / "day")
    assert len(html.encode()) < 400_000
    moments = json.loads(Page(html).raw["script"][0])["moments"]
    assert moments[-1] > 86_000
    assert "20:00:00" in Page(html).words, "times are round hours"


def rows_of(html: str, caption: str) -> list[list[str]]:
    """The lines of a table, without its header."""
    _, _, rest = html.partition(f"<caption>{caption}</caption>")
    lines = re.findall(r"<tr>(.*?)</tr>", rest.partition("</table>")[0])
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in lines][1:]


def test_who_recorded_is_listed_where_there_were_several(tmp_path: Path, html: str) -> None:
    lives = (Life(until=57.0, ended=False), Life(since=59.5))
    sites = [
        Site("db1", ("config", "fio"), load=True),
        Site("switches", ("sw1", "sw2"), 37.0, lives),
        Site("array", ("fa1",), lives=(Life(until=50.0, ended=False),)),
    ]
    folder = tmp_path / "r.sanpath"
    found = render_diagnosis(judged(split(recorded("published"), folder, *sites)), Format.html, folder)
    assert Page(found)
    diagnosed = {
        name: (sources, started, last, clock)
        for name, _, sources, started, last, clock in rows_of(found, "Recorders")
    }
    assert set(diagnosed) == {"db1", "switches", "array"}
    sources, started, _, clock = diagnosed["switches"]
    assert sources == "sw1"
    assert started.startswith("2 times, ")
    assert clock.startswith("+37.0 ± ")
    assert diagnosed["array"][2].endswith("did not end")
    assert rows_of(html, "Recorders") == [], "one recorder that was always there"


def test_one_recorder_that_was_away_for_a_while_is_listed_too(tmp_path: Path) -> None:
    lives = (Life(until=57.0, ended=False), Life(since=59.5))
    folder = tmp_path / "r.sanpath"
    everything = tuple(d.name for d in recorded("published").declarations)
    alone = split(recorded("published"), folder, Site("db1", ("config", *everything), load=True, lives=lives))
    ((_, _, _, started, _, _),) = rows_of(render_diagnosis(judged(alone), Format.html, folder), "Recorders")
    assert started.startswith("2 times, ")
