"""Recognises files of programs that no collector reads, and says what to do instead."""

from __future__ import annotations

import re

from sanpath.plugin import text_of
from sanpath.recorder.importing.files.line_cleaner import prefixed_hosts

_SAR_DATA = re.compile(rb"[\x71\x96]\xd5[\x60-\x7f]\x21|\xd5[\x71\x96]\x21[\x60-\x7f]")
"""SYSSTAT_MAGIC and FORMAT_MAGIC of sysstat's sa.h, in both byte orders."""
_NOT_READ = "sanpath does not read it"
_SADF = "sar -u -d -n DEV -f FILE prints what sanpath reads of the same data"
_BY_HAND = f"{_NOT_READ}; enter its figures by hand (sanpath collectors show figures)"
_PAGE = "copy what the browser shows of it, or enter its figures by hand (sanpath collectors show figures)"
_PROMETHEUS = "sanpath import prometheus reads what a server collected during the test"
_BY_DEVICE = f"{_NOT_READ}; iostat -xty 1 -o JSON has each device"
_LIVE_HOST = f"{_NOT_READ}; the source linux_host does, live"
_LIVE_ESX = f"{_NOT_READ}; the source vsphere does, live"
_LIVE_CEPH = f"{_NOT_READ}; the source ceph does, live"
_LIVE_BROCADE = f"{_NOT_READ}; the sources snmp_switch and brocade_rest do, live"
_LIVE_SWITCH = f"{_NOT_READ}; the sources snmp_switch and cisco_nxapi do, live"
_ESXTOP_BATCH = "esxtop -b -d 2 -n 150 > esxtop.csv writes what it reads"
_TEXTS = (
    (
        r'[ \t]*\{\s{0,80}"status"\s{0,80}:\s{0,80}"success"\s{0,80},\s{0,80}"data"\s{0,80}:',
        "an answer of a Prometheus server",
        _PROMETHEUS,
    ),
    (r"# (?:HELP|TYPE) [a-zA-Z_:]", "a page of a Prometheus exporter", _PROMETHEUS),
    (r"\S+ (?:\([^)]+\) )?dm-\d+ .*\nsize=", "what multipath -ll prints", _LIVE_HOST),
    (r"NIC statistics:|Settings for [\w.-]+:$", "what ethtool prints", _LIVE_HOST),
    (r"top - \d\d:\d\d:\d\d up ", "what top prints", _LIVE_HOST),
    (
        r"\[ *\d+\.\d+\] (?:sd \d|scsi |nvme|device-mapper: |blk_update_request: |Buffer I/O error)",
        "the kernel's log",
        f"{_NOT_READ}; look in it for errors of the devices of the test",
    ),
    (r"nvme-subsys\d+ - NQN=|Node +(?:Generic +)?SN +Model ", "what nvme list prints", _LIVE_HOST),
    (r"\[\d+:\d+:\d+:\d+\] +(?:disk|enclosu|storage|cd/dvd) ", "what lsscsi prints", _LIVE_HOST),
    (r"NAME +(?:\w+ +)*MAJ:MIN ", "what lsblk prints", _LIVE_HOST),
    (
        r" {3}Storage Array Type: VMW_| {3}Runtime Name: vmhba| +Successful Commands: \d",
        "what esxcli storage prints",
        _LIVE_ESX,
    ),
    (r" *(?:ADAPTR|DEVICE|GID) .* CMDS/s ", "a copy of esxtop's screen", f"{_NOT_READ}; {_ESXTOP_BATCH}"),
    (
        r"Histogram: .*virtual machine worldGroupID",
        "what vscsiStats prints",
        f"{_NOT_READ}; {_ESXTOP_BATCH}",
    ),
    (r"Pseudo name=\w", "what powermt display prints", _NOT_READ),
    (r"procs -+memory-", "what vmstat prints", _BY_DEVICE),
    (
        r" kthr +memory +page +| +memory +page +executable +|Mach Virtual Memory Statistics:",
        "what vmstat of another system than Linux prints",
        _BY_HAND,
    ),
    (r"-{2,10}(?:system|total-cpu-usage|total-usage|dsk/\w+)-", "what dstat prints", _BY_DEVICE),
    (r'"(?:Dstat|Dool|pcp-dstat) [^"\n]*CSV ', "a log of dstat", _BY_DEVICE),
    (r"# Collectl: |#<-+CPU-+>", "what collectl prints", _BY_DEVICE),
    (r"# (?:Timestamp +)?Device +rrqm/s ", "what pcp iostat prints", _BY_DEVICE),
    (r"ATOP - ", "what atop prints", _BY_DEVICE),
    (r"Total DISK READ ?: ", "what iotop prints", _BY_DEVICE),
    (r" {1,3}\d+ +\d+ (?:sd|vd|xvd|nvme|dm-|md)\w+(?: \d+){11}", "a copy of /proc/diskstats", _BY_DEVICE),
    (r"[a-z_]+(?:,[\w.]+=[^ ,=]+)+ [\w.]+=\S+ \d{16,19}$", "lines for InfluxDB", _BY_DEVICE),
    (r"#?(?: +Time| *\d\d:\d\d:\d\d(?: [AP]M)?) +UID +PID ", "what pidstat prints", _BY_DEVICE),
    (r"transaction type: |scaling factor: \d", "a result of pgbench", _BY_DEVICE),
    (r" +capacity +operations +bandwidth", "what zpool iostat prints", _BY_DEVICE),
    (r" {2}pool: \S+\n state: ", "what zpool status prints", _BY_DEVICE),
    (r"Tracing block (?:device )?I/O|TIME\(s\) +COMM +PID +DISK ", "what biolatency or biosnoop prints", _BY_DEVICE),
    (r"=+ All Devices =+$", "what btt prints", _BY_DEVICE),
    (
        r"osd +commit_latency\(ms\)| {2}cluster:\n +id: +\S+\n +health: |NAME +WR +RD +WR_BYTES +RD_BYTES",
        "what ceph or rbd prints",
        _LIVE_CEPH,
    ),
    (
        (
            r"(?:AIX|SunOS|HP-UX|SCO_SV|Darwin) \S+ .*\d\d/\d\d/\d\d|.*\bdevice +%busy +avque |"
            r"\d\d:\d\d:\d\d +device +r\+w/s +blks/s"
        ),
        "what sar of another system than Linux prints",
        _BY_HAND,
    ),
    (
        r"\d\d:\d\d:\d\d(?: [AP]M)? +(?:all|\d+)(?: +\d+[.,]\d\d){5,}$",
        "rows of sar or mpstat without the header of their table",
        "import them with it",
    ),
    (
        r"\d\d:\d\d:\d\d(?: [AP]M)? +(?:proc/s|cswch/s|pswpin/s|pgpgin/s|kbmemfree|runq-sz|tps +rtps)\b",
        "what sar prints of other things than devices, network ports and processors",
        "sar -u -d -n DEV 1 prints what sanpath reads",
    ),
    (
        (
            r" +extended device statistics|device +r/s +w/s +kr/s +kw/s |System configuration: lcpu=|"
            r" +disk\d+ .* cpu +load average| L\(q\) +ops/s | +tty +sd\d+ .*\bcpu$|"
            r" +(?:tin +tout +)?KB/t +tps +MB/s"
        ),
        "what iostat of another system than Linux prints",
        _BY_HAND,
    ),
    (
        r"[^%\n]{0,300}\b(?:await|aqu-sz) [^%\n]{0,80}%util +[^%\n]{0,300}\d",
        "a report of iostat or sar without the ends of its lines",
        "copy it as the terminal shows it",
    ),
    (
        r'Timestamp +CounterSamples|"(?:Readings|Timestamp)","(?:Timestamp|CounterSamples)"',
        "what Get-Counter prints on the screen",
        (
            r'typeperf "\PhysicalDisk(*)\*" -si 1 -o disks.csv writes a log that sanpath reads; so does Get-Counter '
            r"piped to Select-Object -ExpandProperty CounterSamples, and this to Export-Csv"
        ),
    ),
    (
        r"[^\s:]{1,255}:\S{0,255} mounted on \S+:$|device \S+ mounted on \S+ with fstype nfs",
        "a statistic of NFS mounts",
        _NOT_READ,
    ),
    (
        r"Target: iqn\.|[ \t]+Iface Transport: ",
        "what iscsiadm prints",
        f"{_NOT_READ}; the source linux_host does, live",
    ),
    (r"[ \t]*<sysstat\s|<!DOCTYPE Configure PUBLIC [^>]{0,80}sysstat", "what sadf -x prints", _SADF),
    (r'[ \t]*"timestamp": \{"date":', "a part of what sadf -j prints", "import all of it"),
    (r"\S{1,255}\t-?\d{1,9}\t(?:\d{10}|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\t]{0,8})\t\S", "what sadf -p prints", _SADF),
    (
        r"\.?(?:1|iso)(?:\.\d{1,10}){4,128}(?: = |\|\d{1,2}x?\|)|(?:IF|SNMPv2)-MIB::[\w.]{1,200} = ",
        "an SNMP walk",
        f"{_NOT_READ}; the source snmp_switch reads a switch, live",
    ),
    (r"AAA,progname,", "a log of nmon", f"{_NOT_READ}; iostat -xty 1 -o JSON has the same devices"),
    (r".*\bporterrshow\b|[ \t]*frames +enc +crc", "what porterrshow prints", _LIVE_BROCADE),
    (r".*\bportperfshow\b", "what portperfshow prints", _LIVE_BROCADE),
    (r".*[#>] ?portstatsshow\b|stat_wtx +\d|tim_txcrd_z +\d", "what portstatsshow prints", _LIVE_BROCADE),
    (
        (
            r".*[#>] ?show interface|fc\d+/\d+ is (?:up|down|trunking)|Port +InOctets +InUcastPkts|"
            r"(?:\w*Ethernet|port-channel)[\d/.]+ is (?:up|down|administratively)"
        ),
        "what show interface prints",
        _LIVE_SWITCH,
    ),
    (
        r"\[[^\]\n]*\]\n(?:(?:[\w-]+ *(?:=.*)?|[;#].*)?\n){0,40}(?:ioengine|rw|readwrite)=\w",
        "a job file of fio, and not its result",
        "fio --output-format=json --output=RESULT JOBFILE writes what sanpath reads",
    ),
    (
        r"[ \t]*(?:READ|WRITE): (?:bw|io)=\d",
        "the summary at the end of fio's output",
        "import the lines of its jobs with it, which have block sizes, I/Os and latencies",
    ),
    (
        r"\S{1,255}:[ \t]*(?:read|write) *: (?:io=|IOPS=)\d",
        "a selection of lines of fio's output",
        "import all of the output: the other lines have block sizes, outstanding I/Os and latencies",
    ),
    (
        r"rd=\w+,(?:wd|fwd)=",
        "a parameter file of vdbench, and not its result",
        "import flatfile.html of its output folder",
    ),
    (
        (
            r"<title>Vdbench |(?:SD|FSD|WD|FWD) (?:report for|response time histogram)|\* Vdbench status$|"
            r"Vdbench distribution: |Error log\. If there is no data beyond this line|Workload skew report$|"
            r"Run totals$|"
            r"(?:Slave|Host) summary report|stdout/stderr for slave=|\d\d:\d\d:\d\d\.\d{3} (?:line|keyw|parm): |"
            r":date \d{8}-\d\d:\d\d:\d\d\.\d{3}\n:fixed_data"
        ),
        "a page of vdbench without the figures of a load",
        "import flatfile.html of the same folder",
    ),
    (
        r"FIO test results:|FIO version - fio|JobName: \w+\n +blocksize=\w+ filesize=",
        "a result of kubestr",
        "kubestr fio -o json prints what sanpath reads",
    ),
    (
        r"FIO Benchmark (?:Compar\w{1,9} )?Summary|= Dbench Summary =",
        "a summary of kbench or dbench",
        "import the output of fio behind it",
    ),
    (r"CrystalDiskMark \d| +(?:SEQ|RND) +\d+[KM]iB \(Q= *\d", "a result of CrystalDiskMark", _BY_HAND),
    (
        r" +%-ile \| +Read \(ms\)",
        "the percentiles of DiskSpd alone",
        "import the tables above them with it, which have I/Os and bytes",
    ),
    (r"fio Disk Speed Tests", "a result of yabs.sh", "import the output of fio behind it"),
    (r"CPU BOGOMIPS: +\d", "a result of pveperf", _BY_HAND),
    (r"Windows System Assessment Tool", "a result of winsat", _BY_HAND),
    (r'[ \t]*"tick_rate": \d', "what SPDK's bdev_get_iostat prints", _BY_HAND),
    (r"AS SSD Benchmark \d", "a result of AS SSD", _BY_HAND),
    (
        r" ?Device Information +: +(?:runtime\(s\) +)?IOPS |Starting SPDK v\d",
        "a result of SPDK's perf or bdevperf",
        _BY_HAND,
    ),
    (r"bench +type \w+ io_size \d", "a result of rbd bench", _BY_HAND),
    (r"Maintaining \d+ concurrent \w+ of |Total (?:writes|reads) made: ", "a result of rados bench", _BY_HAND),
    (r" Timing (?:cached|buffered|O_DIRECT)", "a result of hdparm", _BY_HAND),
    (r"Version +\d\.\d+\w? +-+Sequential Output-", "a result of bonnie++", _BY_HAND),
    (r"<PhoronixTestSuite>", "a result of the Phoronix Test Suite", _BY_HAND),
    (
        r"Name +Time +B/s \(read\) ",
        "what purearray monitor prints",
        f"{_NOT_READ}; a source that reads this array does, live",
    ),
    (r"INTERFACE +VSAN +FCID +PORT NAME", "what show flogi database prints", _LIVE_SWITCH),
    (r"switchName:\s", "what switchshow prints", _LIVE_BROCADE),
    (r"smartctl \d+\.\d", "what smartctl prints", _NOT_READ),
    (
        r'\[ *ID\] Interval +Transfer |[ \t]*"version":\s{1,9}"iperf ',
        "a result of iperf, which tests a network",
        _NOT_READ,
    ),
    (r"(?i:<!doctype html|<html\b)", "a web page", _BY_HAND),
    (r"(?i:[ \t]*</?(?:table|tr|td|pre|p|div|br)\b[^<>\n]{0,200}>)", "a part of a web page", _PAGE),
    (r"--- .* ioping statistics ---|\S+ \S+ (?:<<<|>>>|from) /.*: request=\d", "a result of ioping", _BY_HAND),
    (r"sysbench \d+\.\d", "a result of sysbench", _BY_HAND),
    (r"[ \t]*(?:Iozone: Performance Test of File I/O|Children see throughput for )", "a result of iozone", _BY_HAND),
    (r"IOR-\d|access,bw\(MiB/s\),", "a result of IOR", _BY_HAND),
    (r"OPERATION +RESULT TYPE|ISO Date,Label,Phase,", "a result of elbencho", _BY_HAND),
    (
        r"\d+ bytes transferred in \d|\d+ \w+ (?:\([^()]{1,60}\) )?\w+, [\d.,e-]+ \w+, [\d.,]+ [kMGT]i?B/\w",
        "a result of dd",
        _BY_HAND,
    ),
)
"""(pattern of a line's beginning, what the file is, what to do instead)."""
_PATTERNS = [(re.compile(f"^(?:{pattern})", re.MULTILINE), what, advice) for pattern, what, advice in _TEXTS]


def describe_unread_file(head: bytes, name: str) -> str | None:
    """Describe a file that no collector reads, by its first bytes, and what to do instead. None: not known.

    >>> describe_unread_file(b"procs -----------memory----------", "a.txt")
    'is what vmstat prints: sanpath does not read it; iostat -xty 1 -o JSON has each device'
    """
    if _SAR_DATA.match(head):
        return f"is a binary file of sar: sar -u -d -n DEV -f {name} > {name}.txt prints what sanpath reads"
    if hosts := prefixed_hosts(head):
        return f"has lines of {len(hosts)} hosts: write those of each into a file (grep '^{hosts[0]}: ' {name})"
    text = text_of(head)[0]
    return next((f"is {what}: {advice}" for pattern, what, advice in _PATTERNS if pattern.search(text)), None)
