"""What the options of a job come to, as fio prints them."""

from __future__ import annotations

import pytest

from sanpath.plugin import LoadProfile
from sanpath_collectors.fio.jobs.options import (
    combined_profile,
    parse_duration_seconds,
    parse_size_bytes,
    profile_from_options,
    target_addresses,
)

GIB = 2.0**30


def result(processes: int = 1, **options: str) -> LoadProfile:
    return profile_from_options(tuple(options.items()), processes, "3.33")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (None, None),
        ("", None),
        ("64k", 65536.0),
        ("1M", 1048576.0),
        ("1GB", GIB),
        ("4KB", 4096.0),
        # fio 3.33 does 4000-byte I/Os when it is told 4KiB.
        ("4KiB", 4000.0),
        ("512", 512.0),
        ("50%", None),
        ("4k-64k", None),
        ("9" * 5000, None),
    ],
)
def test_size(text: str | None, size: float | None) -> None:
    assert parse_size_bytes(text) == size


def test_sizes_are_the_other_way_round_with_kb_base_1000() -> None:
    assert parse_size_bytes("4k", "1000") == 4000.0
    assert parse_size_bytes("4KiB", "1000") == 4096.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10", 10.0),
        ("500ms", 0.5),
        ("2m", 120.0),
        ("1h", 3600.0),
        ("1d", 86400.0),
        ("", None),
        ("x", None),
        (None, None),
    ],
)
def test_duration(text: str | None, seconds: float | None) -> None:
    assert parse_duration_seconds(text) == seconds


@pytest.mark.parametrize(
    ("options", "block"),
    [
        ({}, 4096.0),
        ({"bs": "64k"}, 65536.0),
        ({"rw": "randread", "bs": "8k,64k"}, 8192.0),
        ({"rw": "write", "bs": "8k,64k"}, 65536.0),
        ({"rw": "write", "bs": "8k"}, 8192.0),
        ({"rw": "randrw", "bs": "8k,64k"}, None),
        ({"rw": "randrw", "bs": "8k,8k"}, 8192.0),
        ({"bssplit": "4k/60:64k/40"}, None),
        ({"bsrange": "4k-64k"}, None),
    ],
)
def test_block_size_of_what_the_job_does(options: dict[str, str], block: float | None) -> None:
    assert result(**options).block_bytes == block


def test_a_synchronous_engine_keeps_one_in_flight_a_process_whatever_was_asked_for() -> None:
    sync = result(4, ioengine="psync", iodepth="16")
    assert (sync.in_flight, sync.asked_in_flight, sync.synchronous, sync.threads) == (4, 64, True, 4)
    asynchronous = result(4, ioengine="io_uring", iodepth="16")
    assert (asynchronous.in_flight, asynchronous.asked_in_flight, asynchronous.synchronous) == (64, None, False)


@pytest.mark.parametrize(
    ("options", "in_flight"),
    [
        ({"ioengine": "libcufile"}, 1),
        ({"ioengine": "libhipfile"}, 1),
        ({"ioengine": "sg", "filename": "/dev/sdb"}, 1),
        ({"ioengine": "sg", "filename": "/dev/sg1:/dev/sdb"}, 1),
        ({"ioengine": "sg", "filename": r"/dev/sg1:/dev/bsg/0\:0\:0\:1"}, 16),
    ],
)
def test_engines_that_wait_for_each_io(options: dict[str, str], in_flight: int) -> None:
    """The engine sg waits on block devices, not on its own character devices."""
    assert result(iodepth="16", **options).in_flight == in_flight


def test_the_depth_that_fio_adapts_to_a_latency_is_not_known() -> None:
    assert result(ioengine="libaio", iodepth="64", latency_target="10ms").in_flight is None
    assert result(ioengine="libaio", iodepth="64", latency_target="0").in_flight == 64
    assert result(ioengine="psync", latency_target="10ms").in_flight == 1


@pytest.mark.parametrize(
    ("options", "reads", "random"),
    [
        ({}, 1.0, 0.0),
        ({"rw": "randwrite"}, 0.0, 1.0),
        ({"rw": "randrw"}, 0.5, 1.0),
        ({"rw": "rw", "rwmixread": "70"}, 0.7, 0.0),
        ({"rw": "readwrite", "rwmixwrite": "20"}, 0.8, 0.0),
        ({"rw": "randrw", "rwmixread": "0"}, 0.0, 1.0),
        ({"rw": "randread:8"}, 1.0, 1.0),
        ({"rw": "randread", "percentage_random": "60"}, 1.0, 0.6),
        ({"rw": "randrw", "percentage_random": "60,100"}, 0.5, None),
        ({"rw": "randtrim"}, None, 1.0),
        ({"rw": "read", "read_iolog": "day.log"}, None, None),
    ],
)
def test_mix(options: dict[str, str], reads: float | None, random: float | None) -> None:
    assert (result(**options).read_ratio, result(**options).random_ratio) == (reads, random)


@pytest.mark.parametrize(
    ("options", "direct"),
    [
        ({"direct": "1"}, True),
        ({"direct": "0"}, False),
        ({}, False),
        ({"buffered": "0"}, True),
        ({"ioengine": "nbd"}, None),
        ({"ioengine": "nbd", "direct": "1"}, True),
    ],
)
def test_past_the_file_cache(options: dict[str, str], direct: bool | None) -> None:
    assert result(**options).direct is direct


@pytest.mark.parametrize(
    ("options", "fill"),
    [
        ({"zero_buffers": "1"}, "zeros"),
        ({"buffer_pattern": "0xdeadbeef"}, "repeating"),
        ({"buffer_pattern": "0x0000"}, "zeros"),
        ({"verify_pattern": '"abcd"'}, "repeating"),
        ({"refill_buffers": "1"}, "random"),
        ({"refill_buffers": "1", "buffer_compress_percentage": "50"}, None),
        # fio does not print a bare `zero_buffers`: nothing told is nothing known.
        ({}, None),
    ],
)
def test_what_is_written(options: dict[str, str], fill: str | None) -> None:
    assert result(rw="write", **options).fill == fill
    assert result(rw="read", **options).fill is None


@pytest.mark.parametrize(
    ("processes", "options", "files", "size"),
    [
        (1, {"size": "1g"}, 1, GIB),
        (4, {"size": "1g"}, 4, 4 * GIB),
        (4, {"size": "1g", "filename": "/dev/sdb"}, 1, GIB),
        (4, {"size": "1g", "filename": "/dev/sdb", "offset_increment": "1g"}, 1, 4 * GIB),
        (1, {"size": "1g", "filename": "/dev/sdb:/dev/sdc"}, 2, GIB),
        (1, {"size": "1g", "filename": r"\\.\E\:\x.dat"}, 1, GIB),
        (2, {"filesize": "512m", "nrfiles": "3"}, 6, 3 * GIB),
        (1, {"filename": "/dev/sdb"}, 1, None),
        (1, {"size": "50%", "filename": "/dev/sdb"}, 1, None),
        (2, {"size": "1g", "filename_format": "f.$filenum"}, None, None),
    ],
)
def test_working_set(processes: int, options: dict[str, str], files: int | None, size: float | None) -> None:
    assert (result(processes, **options).files, result(processes, **options).working_set_bytes) == (files, size)


@pytest.mark.parametrize(
    ("options", "limited"),
    [
        ({}, False),
        ({"rate": "10m"}, True),
        ({"rate_iops": ",500"}, True),
        ({"rate_iops": "0"}, False),
        ({"thinktime": "100"}, True),
        ({"thinktime": "0us"}, False),
        ({"rate": "0m,0m"}, False),
        ({"rate": "0,10m"}, True),
        ({"latency_target": "10ms"}, True),
        ({"rate_process": "poisson"}, False),
    ],
)
def test_held_back(options: dict[str, str], limited: bool) -> None:
    assert result(**options).rate_limited is limited


@pytest.mark.parametrize(
    ("options", "requested"),
    [
        ({"rw": "randread", "rate_iops": "400,100"}, 800.0),
        ({"rw": "randwrite", "rate_iops": "400,100"}, 200.0),
        ({"rw": "randrw", "rate_iops": "400,100"}, 1000.0),
        ({"rw": "randrw", "rate_iops": "150"}, 600.0),
        ({"rw": "randrw", "rate_iops": "300,"}, None),
        ({"rw": "randrw", "rate": "1m,2m", "bs": "4k"}, 2 * 3 * 256.0),
        ({"rw": "randrw"}, None),
        ({"rw": "randread", "rate_iops": "0"}, None),
        ({"rate_iops": "100"}, 200.0),
    ],
)
def test_the_rates_of_both_directions_together_are_requested(
    options: dict[str, str], requested: float | None
) -> None:
    """Of two processes. fio holds each direction to its rate, whatever the mix."""
    assert result(2, **options).requested_ops_per_second == requested


@pytest.mark.parametrize(
    ("names", "block_devices"),
    [
        ("/dev/sdb", True),
        ("/dev/nvme0n1:/dev/nvme1n1", True),
        ("/dev/mapper/mpatha", True),
        (r"/dev/disk/by-path/pci-0000\:00", True),
        (r"\\.\PhysicalDrive1", True),
        ("/dev/shm/file", False),
        ("/mnt/sdb/file", False),
        ("/dev/sdb:/mnt/file", False),
        ("", None),
    ],
)
def test_devices_and_files_are_told_apart(names: str, block_devices: bool | None) -> None:
    assert result(filename=names).block_devices is block_devices


def test_length_and_ramp() -> None:
    assert (result(runtime="60", ramp_time="500ms").seconds, result(ramp_time="500ms").warmup_seconds) == (60.0, 0.5)


def test_jobs_together_tell_what_all_of_them_do() -> None:
    both = combined_profile(
        [
            result(2, ioengine="libaio", iodepth="4", rw="read", direct="1"),
            result(ioengine="psync", rw="write", direct="1"),
        ]
    )
    assert (both.in_flight, both.threads, both.direct, both.read_ratio, both.synchronous) == (9, 3, True, None, None)
    assert combined_profile([result(iodepth="4"), LoadProfile(engine="fio")]).in_flight is None


@pytest.mark.parametrize(
    ("options", "addresses"),
    [
        ({"uri": "nbd://10.0.0.2:10809"}, ["10.0.0.2"]),
        ({"uri": "nbd://[fe80::1]:10809/x"}, ["fe80::1"]),
        ({"uri": "nbd+unix:///x?socket=/run/x"}, []),
        ({"hostname": "nas1"}, ["nas1"]),
        ({}, []),
    ],
)
def test_where_a_network_engine_sends_its_load(options: dict[str, str], addresses: list[str]) -> None:
    assert target_addresses(options) == addresses


def test_an_account_in_a_uri_is_no_address_of_the_target() -> None:
    assert target_addresses({"uri": "nbd://operator:swordfish@10.0.0.2:10809/x"}) == ["10.0.0.2"]


@pytest.mark.parametrize(
    ("options", "write_through"),
    [
        ({}, False),
        ({"sync": "0"}, False),
        ({"sync": "none"}, False),
        ({"sync": "1"}, True),
        ({"sync": "dsync"}, True),
        ({"sync": "sync", "ioengine": "libaio"}, True),
        ({"sync": "1", "ioengine": "mmap"}, None),
        ({"sync": "1", "ioengine": "nbd"}, None),
    ],
)
def test_writes_with_o_sync_are_through_to_the_storage(options: dict[str, str], write_through: bool | None) -> None:
    assert result(**options).write_through is write_through


@pytest.mark.parametrize(
    ("engine", "is_over_network"), [("libaio", False), ("psync", False), ("nbd", True), ("rbd", True), ("http", True)]
)
def test_engines_that_reach_their_storage_past_the_block_devices_say_so(engine: str, is_over_network: bool) -> None:
    assert result(ioengine=engine).over_network is is_over_network


def test_a_job_that_trims_keeps_no_reads_or_writes_outstanding() -> None:
    """Eight trims beside four reads are no load that has twelve I/Os and starts four."""
    trims, reads = result(rw="randtrim", ioengine="libaio", iodepth="8"), result(ioengine="libaio", iodepth="4")
    assert trims.in_flight == 0
    assert combined_profile([trims, reads]).in_flight == 4
