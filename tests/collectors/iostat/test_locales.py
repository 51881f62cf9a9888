"""sar in other languages: the same figures at the same times, however the locale writes dates and times of day."""

from __future__ import annotations

import pytest

from sanpath.model import Rows
from sanpath.plugin import Item
from sanpath_collectors.iostat.reader import IostatResult

LOCALES = {
    "C": ("11/30/26", "{h:02}:{m:02}:{s:02}", "Average:"),
    "bg_BG": ("30.11.2026", "{h:2}:{m:02}:{s:02}", "Average:"),
    "en_IN": ("30/11/26", "{half:02}:{m:02}:{s:02} PM IST", "Average:"),
    "en_US": ("11/30/2026", "{half:02}:{m:02}:{s:02} PM", "Average:"),
    "fi_FI": ("30.11.2026", "{h:02}.{m:02}.{s:02}", "Keskiarvo:"),
    "ja_JP": ("2026年11月30日", "{h:02}時{m:02}分{s:02}秒", "平均値:"),
    "ko_KR": ("2026년 11월 30일", "{h:02}시 {m:02}분 {s:02}초", "평균값:"),
    "th_TH": ("30/11/2569", "{h:02}:{m:02}:{s:02}", "Average:"),
    "zh_CN": ("2026年11月30日", "{h:02}时{m:02}分{s:02}秒", "平均时间:"),
    "zh_TW": ("2026年11月30日", "{h:02}時{m:02}分{s:02}秒", "平均時間："),
}
"""Locale → its date, its time of day, and what it calls the mean, as glibc 2.36 and sysstat 12.6 print them."""
CPU = "CPU     %user     %nice   %system   %iowait    %steal     %idle"
DISK = "tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util DEV"


def sar(locale: str) -> str:
    """Three intervals of sar -u -d -p in the afternoon."""
    date, clock, mean = LOCALES[locale]
    lines = [f"Linux 6.1.0-13-amd64 (db1) \t{date} \t_x86_64_\t(2 CPU)", ""]

    def table(columns: str, second: int, row: str) -> None:
        for at, text in ((second - 1, columns), (second, row)):
            lines.append(f"{clock.format(h=14, half=2, m=30, s=at):<11}     {text}")
        lines.append("")

    for second in (1, 2, 3):
        table(CPU, second, "all      1.00      0.00      1.00      0.00      0.00     98.00")
        table(DISK, second, f"{100 * second}.00   {800 * second}.00    0.00   0.00   8.00   0.10   1.00   9.00 sda")
    lines += [f"{mean}        all      1.00      0.00      1.00      0.00      0.00     98.00", ""]
    return "\n".join(lines)


def rows(text: str) -> list[Item]:
    reader = IostatResult("hosts")
    return [item for item in (*reader.feed(text.encode()), *reader.finish()) if isinstance(item, Rows)]


@pytest.mark.parametrize("locale", LOCALES)
def test_every_locale_says_the_same(locale: str) -> None:
    assert IostatResult.recognises(sar(locale).encode(), "sar.txt")
    found = rows(sar(locale))
    assert len(found) >= 6
    assert found == rows(sar("C"))
