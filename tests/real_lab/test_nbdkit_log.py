from __future__ import annotations

from real_lab.nbdkit_log import Exchange, NbdkitLog

SECOND = 1_795_150_606_000_000  # 2026-11-20 04:56:46 UTC


def line(microseconds: int, text: str, connection: int = 1) -> bytes:
    return f"2026-11-20 04:56:46.{microseconds:06d} connection={connection} {text}\n".encode()


def start(at: int, number: int, action: str = "Read", connection: int = 1, count: int = 65536) -> bytes:
    return line(at, f"{action} id={number} offset=0x29b70000 count={count:#x} ...", connection)


def end(at: int, number: int, action: str = "Read", connection: int = 1, result: str = "return=0") -> bytes:
    return line(at, f"...{action} id={number} {result}", connection)


def served(log: bytes) -> list[tuple[int, int]]:
    return [(exchange.arrived - SECOND, exchange.served - SECOND) for exchange in NbdkitLog().feed(log)]


def test_a_read_takes_from_its_arrival_to_the_end_of_service_in_utc() -> None:
    [exchange] = NbdkitLog().feed(start(100, 7) + end(2200, 7))
    assert exchange == Exchange("read", SECOND + 100, SECOND + 2200, 65536)
    assert exchange.service_microseconds == 2100


def test_ends_in_another_order_than_starts_are_matched_by_id() -> None:
    log = start(100, 1) + start(200, 2) + start(300, 3) + end(900, 3) + end(1000, 1) + end(1500, 2)
    assert served(log) == [(300, 900), (100, 1000), (200, 1500)]


def test_the_same_id_on_two_connections_is_two_requests() -> None:
    log = start(100, 1, connection=1) + start(150, 1, connection=2) + end(500, 1, connection=2)
    assert served(log + end(900, 1, connection=1)) == [(150, 500), (100, 900)]


def test_ids_that_begin_again_after_a_restart_are_new_requests() -> None:
    log = NbdkitLog()
    assert log.feed(start(100, 1)) == []
    [exchange] = log.feed(start(700_000, 1) + end(702_000, 1))
    assert exchange.service_microseconds == 2000
    assert log.outstanding == 0


def test_requests_cut_off_by_a_disconnect_are_forgotten_and_others_are_not() -> None:
    log = NbdkitLog()
    log.feed(start(100, 1, connection=1) + start(100, 1, connection=2))
    log.feed(line(200, "Disconnect transactions=1", connection=1))
    assert log.outstanding == 1
    assert log.feed(end(300, 1, connection=1)) == []
    assert len(log.feed(end(400, 1, connection=2))) == 1


def test_every_cut_of_the_file_gives_the_same_exchanges() -> None:
    whole = start(100, 1) + start(150, 2, "Write", count=4096) + end(900, 2, "Write") + end(1000, 1)
    expected = NbdkitLog().feed(whole)
    assert len(expected) == 2
    for cut in range(len(whole) + 1):
        log = NbdkitLog()
        assert log.feed(whole[:cut]) + log.feed(whole[cut:]) == expected


def test_a_last_line_without_its_end_is_not_yet_served() -> None:
    log = NbdkitLog()
    assert log.feed(start(100, 1) + end(900, 1)[:-1]) == []
    assert log.outstanding == 1


def test_writes_are_told_from_reads() -> None:
    write = line(100, "Write id=4 offset=0x0 count=0x1000 fua=0 ...")
    [exchange] = NbdkitLog().feed(write + end(600, 4, "Write"))
    assert (exchange.direction, exchange.payload_bytes) == ("write", 4096)


def test_failed_requests_do_not_count_as_served() -> None:
    assert served(start(100, 1) + end(900, 1, result="return=-1 error=ESHUTDOWN")) == []


def test_lines_that_are_no_data_are_passed_over() -> None:
    log = (
        b"2026-11-20 04:56:44.989755 Ready thread_model=3\n"
        b"2026-11-20 04:56:46.136605 Preconnect id=1 readonly=0 ...\n"
        b"2026-11-20 04:56:46.136619 ...Preconnect id=1 return=0\n"
        + line(140, 'Connect export="" tls=0 size=0x40000000 write=1')
        + line(150, "Flush id=1 ...")
        + line(160, "...Flush id=1 return=0")
        + line(170, "Trim id=2 offset=0x0 count=0x1000 fua=0 ...")
    )
    assert served(log + start(200, 3) + end(2300, 3)) == [(200, 2300)]
