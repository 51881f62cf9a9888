"""Hosts of a cluster: one login for all of them."""

from __future__ import annotations

from sanpath.plugin import SshTarget
from sanpath_collectors.ceph.config import CephConfig


def test_further_hosts_are_logged_in_to_as_the_first_one() -> None:
    config = CephConfig(name="c", collector="ceph", address="ceph1", user="root", port=2222, hosts=["ceph2"])
    logins = [(target.host, target.user, target.port) for target in config.machines() if target is not None]
    assert logins == [("ceph1", "root", 2222), ("ceph2", "root", 2222)]


def test_the_first_host_may_be_the_one_that_sanpath_runs_on() -> None:
    config = CephConfig(name="c", collector="ceph", hosts=["ceph2"])
    first, second = config.machines()
    assert first is None
    assert isinstance(second, SshTarget)
    assert (second.host, len(config.extras)) == ("ceph2", 1)


def test_only_this_machine_needs_no_ssh() -> None:
    config = CephConfig(name="c", collector="ceph")
    assert (config.machines(), config.extras) == ([None], ())
