"""Normal text of fio --client: the entries of all clients are one status, and their sum is nobody's."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from tests.collectors.fio.printed import Reported

FORMAT = "%a %b %d %H:%M:%S %Y"
DATE = "Fri Nov 20 02:53:27 2026"
HOSTS = (("h1", 1000), ("h2", 3000))
COPIES = [
    (hosts, part)
    for hosts in (["h1", "h2"], ["h2", "h1", "h3"], ["h1", "h1"])
    for part in ("all", "no sum", "no names", "no greetings")
    if part != "no greetings" or len(set(hosts)) > 1
]
"""Without greetings, nothing tells clients of one name from one that reports twice."""
HEADER = "rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth="


def entry(job: str, group: int, ops: int, ms: int, pid: int, date: str = DATE) -> str:
    return (
        f"{job}: (groupid={group}, jobs=1): err= 0: pid={pid}: {date}\n"
        f"  read: IOPS={1000 * ops // ms}, BW=1MiB/s (1MB/s)({4 * ops}KiB/{ms}msec)\n"
        "     lat (usec): min=10, max=900, avg=200.00, stdev=1.00\n"
        f"     issued rwts: total={ops},0,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
    )


def after(seconds: int) -> str:
    """A date so long after the first."""
    return f"{datetime.strptime(DATE, FORMAT) + timedelta(seconds=seconds):{FORMAT}}"


def greeting(host: str, depth: int) -> str:
    return (
        f"hostname={host}, be=0, 64-bit, os=Linux, arch=x86-64, fio=fio-3.33, flags=1\n"
        f"<{host}> a: (g=0): {HEADER}{depth}\n<{host}> Starting 1 process\n"
    )


def printed(host: str, ops: int, ms: int, pid: int, *, disk: int = 0, date: str = DATE) -> str:
    """What the client of a host prints of its job."""
    text = f"<{host}> \n{entry('a', 0, ops, ms, pid, date)}\nRun status group 0 (all jobs):\n   READ: bw=1MiB/s\n"
    counts = f"ios={disk}/0, merge=0/0, ticks={disk}/0, in_queue={disk}, util=9.00%"
    return text + (f"\nDisk stats (read/write):\n  sda: {counts}\n" if disk else "")


def total(ops: int, ms: int, clients: int, date: str = DATE) -> str:
    return entry("All clients", 0, ops, ms, 0, date).replace("jobs=1", f"jobs={clients}")


@pytest.mark.parametrize("with_sum", [True, False])
@pytest.mark.parametrize("hosts", [["h1"], ["h1", "h2"], ["h3", "h1", "h2"], ["h1", "h1"]])
def test_what_the_clients_do_together_is_the_sum_of_what_each_does(hosts: Sequence[str], with_sum: bool) -> None:
    counts = [1000 * (number + 1) for number in range(len(hosts))]
    text = "".join(greeting(host, 8) for host in hosts)
    text += "".join(printed(host, ops, 4000, 100 + ops) for host, ops in zip(hosts, counts, strict=True))
    text += total(sum(counts), 4000, len(hosts)) if with_sum and len(hosts) > 1 else ""
    reported = Reported.of_report(text.encode())
    assert [step for step in reported.steps if step[0] == "step-begin"] == [("step-begin", *reported.steps[0][1:])]
    done = [reported.column(load, "ops_read_total")[-1] for load in reported.rows]
    assert sorted(done) == counts
    assert reported.reported("step-begin", "offered") == [8 * len(hosts)]


def test_clients_have_depths_and_disks_of_their_own() -> None:
    text = greeting("h1", 8) + greeting("h2", 32)
    text += printed("h1", 1000, 4000, 7, disk=1010) + printed("h2", 3000, 4000, 9, disk=3030) + total(4000, 4000, 2)
    reported = Reported.of_report(text.encode())
    assert reported.reported("step-begin", "offered") == [40]
    assert {"h1/sda", "h2/sda"} <= reported.entities.keys()
    assert ("runs_on", ("load", "f/h2/a"), ("host", "h2")) in reported.links


def test_a_client_that_answers_late_is_one_of_the_run() -> None:
    text = greeting("h1", 8) + "<h1> Starting 1 process\n" + greeting("h2", 8)
    text += printed("h1", 1000, 4000, 7) + printed("h2", 3000, 4000, 9) + total(4000, 4000, 2)
    assert len(Reported.of_report(text.encode()).rows) == 2


def test_each_sum_ends_a_status_and_each_new_greeting_begins_a_run() -> None:
    later = "Fri Nov 20 02:53:29 2026"
    of_run = greeting("h1", 8) + greeting("h2", 8)
    of_run += printed("h1", 500, 2000, 7) + printed("h2", 700, 2000, 9) + total(1200, 2000, 2)
    of_run += printed("h1", 1000, 4000, 7, date=later) + printed("h2", 1400, 4000, 9, date=later)
    of_run += total(2400, 4000, 2, date=later)
    reported = Reported.of_report(of_run.encode())
    assert reported.column("f/h1/a", "ops_read_total") == [0, 500, 1000]
    assert reported.column("f/h2/a", "ops_read_total") == [0, 700, 1400]
    twice = Reported.of_report((of_run + of_run.replace("02:53", "02:58")).encode())
    assert twice.column("f/h2/a (2)", "ops_read_total") == [0, 700, 1400]


@pytest.mark.parametrize("apart", [0, 3, 8, 600])
@pytest.mark.parametrize("less", [False, True])
@pytest.mark.parametrize(("hosts", "part"), COPIES)
def test_however_far_apart_clients_end_they_are_one_run_and_no_operation_is_lost(
    hosts: Sequence[str], apart: int, less: bool, part: str
) -> None:
    counts = [1000 * (len(hosts) - number if less else number + 1) for number in range(len(hosts))]
    text = "".join(greeting(host, 8) for host in hosts) if part != "no greetings" else ""
    for number, (host, ops) in enumerate(zip(hosts, counts, strict=True)):
        of_client = printed(host, ops, 4000 + 1000 * apart * number, 100 + number, date=after(apart * number))
        of_client = of_client.replace(f"<{host}> \n", "") if part == "no names" else of_client
        text += of_client.replace(f"<{host}> \n", f"<{host}> ") if part == "no greetings" else of_client
    last = apart * (len(hosts) - 1)
    text += total(sum(counts), 4000 + 1000 * last, len(hosts), date=after(last)) if part != "no sum" else ""
    reported = Reported.of_report(text.encode())
    assert sorted(reported.column(load, "ops_read_total")[-1] for load in reported.rows) == sorted(counts)
    assert len(reported.reported("step-begin", "offered")) == 1


def test_a_sum_long_after_a_run_without_clients_is_not_of_it() -> None:
    text = f"fio-3.33\n{entry('a', 0, 1000, 4000, 7)}{total(1200, 2000, 2, date=after(600))}"
    reported = Reported.of_report(text.encode())
    done = {load: reported.column(load, "ops_read_total")[-1] for load in reported.rows}
    assert done == {"f/a": 1000, "f/All clients": 1200}


def test_a_sum_alone_is_one_job() -> None:
    reported = Reported.of_report(total(1200, 2000, 2).encode())
    assert reported.column("f/All clients", "ops_read_total") == [0, 1200]


@pytest.mark.parametrize("tag", ["<pre>", "<details>", "<summary> fio", "</code>"])
def test_a_tag_of_a_page_is_no_client(tag: str) -> None:
    text = f"{tag}\na: (g=0): {HEADER}8\nfio-3.33\nStarting 1 process\n\n{tag}\n{entry('a', 0, 1000, 4000, 7)}"
    reported = Reported.of_report(text.encode())
    assert list(reported.rows) == ["f/a"]
    assert reported.reported("step-begin", "offered") == [8]
    assert not [link for link in reported.links if link[0] == "runs_on"]


def test_clients_are_known_by_their_lines_where_the_greeting_was_not_copied() -> None:
    lines = [f"<{host}> {entry('a', 0, ops, 4000, ops)}\nRun status group 0 (all jobs):\n" for host, ops in HOSTS]
    reported = Reported.of_report("".join(lines).encode())
    done = {load: reported.column(load, "ops_read_total")[-1] for load in reported.rows}
    assert done == {f"f/{host}/a": ops for host, ops in HOSTS}


def test_a_run_of_this_machine_after_one_of_clients_is_of_no_client() -> None:
    text = greeting("h1", 8) + greeting("h2", 8) + printed("h1", 1000, 4000, 7) + printed("h2", 3000, 4000, 9)
    text += total(4000, 4000, 2) + f"\nb: (g=0): {HEADER}32\nfio-3.33\nStarting 1 process\n\n"
    text += entry("b", 0, 500, 4000, 11, date="Fri Nov 20 02:58:27 2026")
    reported = Reported.of_report(text.encode())
    assert reported.reported("step-begin", "offered") == [16, 32]
    assert {("runs_on", ("load", f"f/{host}/a"), ("host", host)) for host, _ in HOSTS} <= set(reported.links)
    assert not [link for link in reported.links if link[0] == "runs_on" and link[1] == ("load", "f/b")]
