"""vdbench: the reports of its output folder, and flatfile.html while it grows."""

from sanpath.plugin import FollowedFileConfig, Spec
from sanpath_collectors.vdbench.tables import HOST, LOAD

COLLECTOR = Spec(
    name="vdbench",
    title="vdbench, from the reports of its output folder, live from flatfile.html",
    config=FollowedFileConfig,
    collector="sanpath_collectors.vdbench.reports.flatfile:Vdbench",
    load="sanpath_collectors.vdbench.reports.flatfile:VdbenchLoad",
    result="sanpath_collectors.vdbench.reader:VdbenchReader",
    tables=(LOAD, HOST),
)
