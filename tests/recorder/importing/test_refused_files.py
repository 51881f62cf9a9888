"""A file that no collector reads does not keep the others of one command from being imported."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.errors import UsageError
from sanpath.recording.reading.recording import Recording
from tests.support.fio_text import fio_text


def test_the_files_beside_one_that_nothing_reads_are_imported(tmp_path: Path) -> None:
    (unread := tmp_path / "vmstat.txt").write_text("procs -----memory----\n r  b   swpd\n 1  0      0\n")
    (result := tmp_path / "fio.txt").write_text(fio_text())
    folder = tmp_path / "r.sanpath"
    command = ["import", "file", str(unread), str(result), "--into", str(folder)]
    with pytest.raises(UsageError, match=r"^vmstat\.txt: "):
        CliRunner().invoke(app, command, catch_exceptions=False)
    assert [each.collector for each in Recording(folder).declarations] == ["fio"]


def test_a_command_that_imports_nothing_names_each_file(tmp_path: Path) -> None:
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    files[0].write_text("nothing that anybody reads\n")
    files[1].write_text("procs ---memory---\n")
    ran = CliRunner().invoke(app, ["import", "file", *map(str, files), "--into", str(tmp_path / "r.sanpath")])
    assert str(ran.exception).startswith("a.txt: ")
    assert "not imported: b.txt: " in ran.stderr
    assert "sanpath diagnose" not in ran.stderr


def test_files_that_are_refused_for_the_same_reason_are_one_line(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.txt", "b.txt", "c.txt")]
    for file in files:
        file.write_text("nothing that anybody reads\n" if file.name != "b.txt" else "procs ---memory---\n")
    ran = CliRunner().invoke(app, ["import", "file", *map(str, files), "--into", str(tmp_path / "r.sanpath")])
    assert str(ran.exception).startswith("a.txt, c.txt: each is not a result")
    assert "not imported: b.txt: is what vmstat" in ran.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x96\xd5\x75\x21" + bytes(40), "is a binary file of sar: sar -u -d -n DEV -f what > what.txt prints what"),
        (
            b'{"status":"success","data":{"resultType":"matrix","result":[]}}',
            "sanpath import prometheus reads what a",
        ),
        (b"# HELP node_disk_io_now The number of I/Os\n", "is a page of a Prometheus exporter: sanpath import"),
        (b"mpatha (3600601) dm-2 DGC,VRAID\nsize=500G features='0'\n", "is what multipath -ll prints: sanpath does"),
        (b"mpatha dm-2 DGC,VRAID\nsize=500G features='0'\n", "is what multipath -ll prints: sanpath does"),
        (
            b"nvme-subsys0 - NQN=nqn.2010-06.net.example:a\n",
            "is what nvme list prints: sanpath does not read it; the",
        ),
        (b"[0:0:0:1]    disk    PURE     FlashArray   8888  /dev/sdb\n", "is what lsscsi prints: sanpath does"),
        (b"NAME  MAJ:MIN RM  SIZE RO TYPE MOUNTPOINT\n", "is what lsblk prints: sanpath does not read it"),
        (b"naa.6001\n   Storage Array Type: VMW_SATP_ALUA\n", "is what esxcli storage prints: sanpath does not"),
        (b"Histogram: latency,virtual machine worldGroupID,7\n", "is what vscsiStats prints: sanpath does not"),
        (b"Pseudo name=emcpowera\n", "is what powermt display prints: sanpath does not read it"),
        (b'"Readings","Timestamp","CounterSamples"\n', "is what Get-Counter prints on the screen: typeperf"),
        (
            b"db1\t10\t2026-01-31 10:00:10 UTC\tsda\ttps\t1.00\n",
            "is what sadf -p prints: sar -u -d -n DEV -f FILE prints",
        ),
        (b'\t\t\t\t{\n\t\t\t\t\t"timestamp": {"date": "2026-01-31"}', "is a part of what sadf -j prints: import all"),
        (
            b".1.3.6.1.2.1.2.2.1.10.1 = Counter32: 1\n",
            "is an SNMP walk: sanpath does not read it; the source snmp_switch",
        ),
        (b"IF-MIB::ifInOctets.1 = Counter32: 1\n", "is an SNMP walk"),
        (b"1.3.6.1.2.1.2.2.1.10.1|65|1\n", "is an SNMP walk"),
        (b'<?xml version="1.0"?>\n<sysstat\nxmlns="x">\n', "is what sadf -x prints: sar -u -d -n DEV -f FILE prints"),
        (b"AAA,progname,nmon\n", "is a log of nmon: sanpath does not read it"),
        (b"sw1:admin> porterrshow\n", "is what porterrshow prints: sanpath does not read it"),
        (b"mds1# show interface fc1/7\nfc1/7 is up\n", "is what show interface prints: sanpath does not read it"),
        (
            b" ADAPTR PATH     NPTH AQLEN   CMDS/s  READS/s\n",
            "is a copy of esxtop's screen:",
        ),
        (b"stat_wtx     1214429676  4-byte words transmitted\n", "is what portstatsshow prints: sanpath does not"),
        (b"NIC statistics:\n     rx_packets: 1234\n", "is what ethtool prints: sanpath does not read it"),
        (
            b"Ethernet1/1 is up\nadmin state is up\n",
            "is what show interface prints:",
        ),
        (b"Port          InOctets       InUcastPkts\n", "is what show interface prints: sanpath does not read it"),
        (b"AIX db1 3 4 0002506F4C00    08/26/99\n", "is what sar of another system than Linux prints: sanpath"),
        (b"12:36:32 device %busy avque r+w/s\n", "is what sar of another system than Linux prints: sanpath"),
        (b"07:39:12   device    r+w/s    blks/s\n", "is what sar of another system than Linux prints"),
        (
            b" kthr      memory            page            disk\n",
            "is what vmstat of another system than Linux prints",
        ),
        (b"Mach Virtual Memory Statistics: (page size\n", "is what vmstat of another system than Linux prints"),
        (b"   tty        sd0           sd1           cpu\n", "is what iostat of another system than Linux prints"),
        (b"              disk0\n    KB/t  tps  MB/s\n", "is what iostat of another system than Linux prints"),
        (b"10:13:19 PM  all  0.80  0.00  0.20  0.00  0.00  98.99\n", "is rows of sar or mpstat without the header"),
        (b"Linux 2.6 (a)\t07/29/2011\n\n07:57:15 PM    proc/s\n", "is what sar prints of other things than devices"),
        (b"<pre>\n* Vdbench status\n", "is a page of vdbench without the figures of a load"),
        (b":date 03082019-18:11:38.000\n:fixed_data\n", "is a page of vdbench without the figures of a load"),
        (b"device     r/s   w/s     kr/s     kw/s  ms/r\n", "is what iostat of another system than Linux prints"),
        (b"TIME(s)     COMM           PID    DISK    T\n", "is what biolatency or biosnoop prints: sanpath does not"),
        (
            b"osd  commit_latency(ms)  apply_latency(ms)\n",
            "is what ceph or rbd prints: sanpath does not read it; the",
        ),
        (b"  pool: tank\n state: ONLINE\n", "is what zpool status prints: sanpath does not read it; iostat"),
        (
            b"  %-ile |  Read (ms) | Write (ms) | Total (ms)\n",
            "is the percentiles of DiskSpd alone: import",
        ),
        (b"  SEQ    1MiB (Q=  8, T= 1):  3512.158 MB/s\n", "is a result of CrystalDiskMark: sanpath does not read"),
        (b"fio Disk Speed Tests (Mixed R/W 50/50):\n", "is a result of yabs.sh: import the output of fio behind it"),
        (
            b"1073741824 bytes (1.1 GB) copied, 9.7 s, 111 MB/s\n",
            "is a result of dd: sanpath does not read it; enter",
        ),
        (b"1073741824 Bytes (1,1 GB, 1,0 GiB) kopiert, 9,71 s, 111 MB/s\n", "is a result of dd: sanpath does not"),
        (b"1073741824 bytes transferred in 9.71 secs\n", "is a result of dd: sanpath does not read it; enter its"),
        (b"[12.5] sd 2:0:0:0: [sdb] tag#0 FAILED Result\n", "is the kernel's log: sanpath does not read it; look in"),
        (
            b"----system---- --dsk/sda--\n     time     | read  writ\n",
            "is what dstat prints: sanpath does not",
        ),
        (b'"Dstat 0.7.3 CSV output"\n"Author:","A"\n', "is a log of dstat: sanpath does not read it; iostat"),
        (
            b"################\n# Collectl:   V4.3.1-1  HiRes: 1\n",
            "is what collectl prints: sanpath does not read it",
        ),
        (b"#<--------CPU--------><----------Disks----------->\n", "is what collectl prints: sanpath does not read"),
        (b"# Device      rrqm/s  wrqm/s     r/s\n", "is what pcp iostat prints: sanpath does not read it; iostat"),
        (b"   8       0 sda 4 0 8 1 0 0 0 0 0 1 1 0 0 0 0\n", "is a copy of /proc/diskstats: sanpath does not read"),
        (b"diskio,host=a,name=sda reads=1i,writes=2i 1603193443000000000\n", "is lines for InfluxDB: sanpath does"),
        (b"[global]\n# reads\ntime_based\nioengine=libaio\n[a]\n", "is a job file of fio, and not its result: fio"),
        (b"sd=sd1,lun=/dev/sdb\nrd=rd1,wd=wd1,iorate=max\n", "is a parameter file of vdbench, and not its result"),
        (b"<title>Vdbench a/logfile.html</title><pre>\n", "is a page of vdbench without the figures of a load"),
        (b"Device Information        :       IOPS      MiB/s\n", "is a result of SPDK's perf or bdevperf: sanpath"),
        (b"Maintaining 16 concurrent writes of 4194304 bytes\n", "is a result of rados bench: sanpath does not"),
        (
            b"FIO Benchmark Comparsion Summary\nFor: a vs b\n",
            "is a summary of kbench or dbench: import the output of",
        ),
        (b"JobName: r\n  blocksize=4K filesize=2G\nread:\n", "is a result of kubestr: kubestr fio -o json prints"),
        (
            b"$ ./perf -q 9\nStarting SPDK v24.01 / DPDK 23.11\n",
            "is a result of SPDK's perf or bdevperf: sanpath does",
        ),
        (b"bench  type write io_size 4096 io_threads 16\n", "is a result of rbd bench: sanpath does not read it"),
        (b"<table>\n <tr>\n <td>IOs/sec: 9<br>\n", "is a part of a web page: copy what the browser shows of it"),
        (
            b"a.log:  read : io=1MB, iops=9\nb.log:  read : io=1MB, iops=8\n",
            "is a selection of lines of fio's output: import all of the output",
        ),
        (
            b"$ sar -d 9 1 05:26:55 PM DEV tps avgqu-sz await svctm %util 05:27:04 PM dev8-0 7.55 3.9 4.6 0.03 9.8\n",
            "is a report of iostat or sar without the ends of its lines: copy it as the terminal shows it",
        ),
        (b"Elapsed time- 30s\nFIO test results:\n", "is a result of kubestr: kubestr fio -o json prints what"),
        (b"=====\nFIO Benchmark Summary\nFor: a\n", "is a summary of kbench or dbench: import the output of fio"),
        (b"<!DOCTYPE html>\n<html>\n", "is a web page: sanpath does not read it; enter its figures by hand"),
        (b"Linux 6.1 (a)\n\n14:30:05      UID       PID   kB_rd/s\n", "is what pidstat prints: sanpath does not"),
        (b"              capacity     operations     bandwidth\n", "is what zpool iostat prints: sanpath does"),
        (b"                    extended device statistics\n", "is what iostat of another system"),
        (
            b"\nTimestamp                 CounterSamples\n",
            'screen: typeperf "\\PhysicalDisk(*)\\*" -si 1 -o',
        ),
        (b"Target: iqn.2026-01.net.example:a\n", "is what iscsiadm prints: sanpath does not read it"),
        (b"4 KiB <<< /dev/sdb (block device 1 GiB): request=1 time=1 us\n", "is a result of ioping: sanpath does"),
        (b"sysbench 1.0.20 (using LuaJIT)\n", "is a result of sysbench: sanpath does not read it; enter its"),
        (b"access,bw(MiB/s),IOPS,Latency\nread,1,2,3\n", "is a result of IOR: sanpath does not read it; enter its"),
        (b"1048576 bytes (1.0 MB, 1.0 MiB) copied, 1 s, 1.0 MB/s\n", "is a result of dd: sanpath does not read it"),
        (b"scaling factor: 100\n", "is a result of pgbench: sanpath does not read it; iostat"),
        (b"----\nCrystalDiskMark 8.0.4 x64\n", "is a result of CrystalDiskMark: sanpath does not read it; enter its"),
    ],
)
def test_a_file_of_a_known_program_is_called_what_it_is(tmp_path: Path, content: bytes, message: str) -> None:
    (file := tmp_path / "what").write_bytes(content)
    command = ["import", "file", str(file), "--into", str(tmp_path / "r.sanpath")]
    with pytest.raises(UsageError) as refusal:
        CliRunner().invoke(app, command, catch_exceptions=False)
    assert str(refusal.value).startswith("what: ")
    assert message in str(refusal.value)
    assert "--reader" not in str(refusal.value)
