"""Logging in, trust, rights, and servers that do not answer."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pyVmomi import vim

from sanpath.config import load_config
from sanpath.errors import ConfigError
from sanpath.plugin import CollectorError, Failure
from sanpath.recording.reading.recording import Recording
from sanpath_collectors.vsphere.connection.soap import read_reply
from tests.collectors.vsphere.asking import Ask, ask_all
from tests.collectors.vsphere.conftest import Authority
from tests.collectors.vsphere.site import site
from tests.collectors.vsphere.vcenter import VERSION, Vcenter, reply, serving


def refused(ask: Ask, vcenter: Vcenter, **settings: object) -> CollectorError:
    with pytest.raises(CollectorError) as caught:
        ask(vcenter, **settings)
    return caught.value


def test_a_wrong_password_is_refused_and_not_repeated(ask: Ask) -> None:
    vcenter = site()
    error = refused(ask, vcenter, password="wrong-secret")
    assert error.failure is Failure.REFUSED
    assert vcenter.calls.count("Login") == 1
    assert "sanpath" in str(error)
    assert "wrong-secret" not in f"{error} {error.excerpt}"


def test_an_authority_that_did_not_sign_is_refused_on_127_0_0_1_too(ask: Ask, tmp_path: Path) -> None:
    vcenter = site()
    error = refused(ask, vcenter, ca_file=Authority(tmp_path, "other").file)
    assert error.failure is Failure.MISCONFIGURED
    assert "ca_file" in str(error)
    assert vcenter.calls == []  # the password was not sent


def test_the_system_does_not_trust_a_self_made_certificate(ask: Ask) -> None:
    assert refused(ask, site(), ca_file=None).failure is Failure.MISCONFIGURED


def test_an_expired_certificate_is_refused(tmp_path: Path) -> None:
    old = Authority(tmp_path, "old", days=-1)

    async def run() -> None:
        async with serving(site(), old.server_file) as address:
            await ask_all({"host": address, "ca_file": old.file, "user": "sanpath", "password": "right"}, 1)

    with pytest.raises(CollectorError, match="expired") as caught:
        asyncio.run(run())
    assert caught.value.failure is Failure.MISCONFIGURED


def test_the_pinned_certificate_alone_is_accepted(ask: Ask, authority: Authority, tmp_path: Path) -> None:
    assert ask(site(), ca_file=None, pinned_certificate=authority.leaf_file).check
    other = Authority(tmp_path, "other")
    for file in (other.leaf_file, authority.file):  # the authority could sign other certificates
        vcenter = site()
        error = refused(ask, vcenter, ca_file=None, pinned_certificate=file)
        assert error.failure is Failure.MISCONFIGURED
        assert "pinned_certificate" in str(error)
        assert vcenter.calls == []


def test_a_pin_beside_an_authority_is_a_mistake(tmp_path: Path) -> None:
    written = tmp_path / "sanpath.yaml"
    source = "{name: vc, collector: vsphere, host: vc, user: u, password: 'env:HOME', "
    written.write_text(f"sources:\n  - {source}pinned_certificate: a.pem, ca_file: b.pem}}\n")
    with pytest.raises(ConfigError, match="pinned_certificate"):
        load_config(written)


def test_an_expired_session_is_renewed_in_the_middle_of_a_run(ask: Ask) -> None:
    vcenter = site()

    def change(_: int) -> None:
        vcenter.sessions.clear()

    reported = ask(vcenter, polls=3, change=change)
    assert vcenter.calls.count("Login") == 4
    assert len(reported.polls) == 3


def test_it_logs_out(ask: Ask) -> None:
    vcenter = site()
    ask(vcenter)
    assert vcenter.calls[-1] == "Logout"
    assert not vcenter.sessions


def test_a_privilege_that_is_missing_is_named_with_its_consequence(ask: Ask) -> None:
    vcenter = site()
    vcenter.lines["blind"] = ""
    check = ask(vcenter).check
    assert check is not None
    assert [line for line in check.unreadable if "System.View" in line] == [
        "privilege System.View at the root: counters cannot be read: the I/O of hosts, LUNs and paths is unknown"
    ]


def test_an_account_that_sees_no_host_is_refused_with_what_to_grant(ask: Ask) -> None:
    vcenter = site()
    del vcenter.objects["HostSystem", "host-1"]
    error = refused(ask, vcenter)
    assert error.failure is Failure.REFUSED
    assert "Read-only at the root" in str(error)


def test_a_host_that_is_not_there_is_a_mistake(ask: Ask) -> None:
    error = refused(ask, site(), hosts=["esx99"])
    assert error.failure is Failure.MISCONFIGURED
    assert "esx99" in str(error)


def test_counters_that_the_account_may_not_read_are_told_with_the_privilege(ask: Ask) -> None:
    vcenter = site()
    host = vim.HostSystem("host-1", None)
    fault = vim.fault.NoPermission(msg="Permission was denied.", object=host, privilegeId="System.View")
    vcenter.faults["QueryPerf"] = [fault, fault]
    reported = ask(vcenter)
    events = reported.events("no-samples")
    assert [event["entity"] for event in events] == ["esx7", "sqlvm1"]
    assert all("System.View" in event["why"] for event in events)
    assert reported.rows("path", "esx7/vmhba2:C0:T0:L1")  # what it may read is read


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that accepts connections and says nothing."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def test_a_vcenter_that_hangs_is_given_up_within_the_budget(silent: str) -> None:
    settings = {"host": silent, "user": "u", "password": "p", "timeout_seconds": 0.5}
    with pytest.raises(CollectorError) as caught:
        asyncio.run(ask_all(settings, 1))
    assert caught.value.failure is Failure.UNREACHABLE
    assert silent in str(caught.value)


def test_a_call_that_hangs_ends_the_poll_and_not_the_session(authority: Authority) -> None:
    vcenter = site()

    async def run() -> str:
        async with serving(vcenter, authority.server_file) as address:
            settings = {"host": address, "ca_file": authority.file, "user": "sanpath", "password": "right"}

            def change(_: int) -> None:
                vcenter.delays["QueryPerf"] = 30.0

            try:
                await ask_all({**settings, "timeout_seconds": 1.0}, 1, change)
            except CollectorError as error:
                return f"{error.failure.name}: {error}"
            return ""

    assert asyncio.run(run()).startswith("UNREACHABLE")
    assert vcenter.calls[-1] == "Logout"


def test_other_sources_go_on_while_a_vcenter_hangs(silent: str, tmp_path: Path) -> None:
    """In a run: the one that hangs is told as unreachable, the host beside it is sampled all the time."""
    (tmp_path / "secret").write_text("p")
    vcenter = f"name: vc, collector: vsphere, host: '{silent}', user: u, password: 'file:{tmp_path}/secret'"
    host = "name: here, collector: linux_host, every_seconds: 0.5"
    (tmp_path / "sanpath.yaml").write_text(f"sources:\n  - {{{vcenter}, timeout_seconds: 2}}\n  - {{{host}}}\n")
    command = [sys.executable, "-m", "sanpath", "run", "--for", "5", "--into", "r.sanpath", "--format", "json"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, timeout=120)
    polls = Recording(tmp_path / "r.sanpath").polls()
    hung = [poll for poll in polls if poll.source == "vc" and poll.outcome != "skipped"]
    assert {(poll.outcome, poll.failure) for poll in hung} == {("failed", "unreachable")}
    assert silent in hung[0].message
    others = [poll for poll in polls if poll.source == "here"]
    assert {poll.outcome for poll in others} == {"ok"}
    assert len(others) >= 5


def test_a_reply_with_a_document_type_is_refused(authority: Authority) -> None:
    vcenter = site()
    true_answer = vcenter.answer

    def bombed(body: bytes, cookie: str) -> tuple[int, dict[str, str], bytes]:
        status, headers, reported = true_answer(body, cookie)
        return status, headers, reported.replace(b"?>", b'?><!DOCTYPE a [<!ENTITY b "c">]>', 1)

    vcenter.answer = bombed  # type: ignore[assignment,method-assign]

    async def run() -> None:
        async with serving(vcenter, authority.server_file) as address:
            await ask_all({"host": address, "ca_file": authority.file, "user": "sanpath", "password": "right"}, 1)

    with pytest.raises(CollectorError, match="is not valid"):
        asyncio.run(run())


def test_an_answer_that_is_no_vsphere_is_told_as_a_wrong_address(authority: Authority) -> None:
    async def run() -> None:
        application = web.Application()

        async def page(_: web.Request) -> web.Response:
            return web.Response(text="<html><body>It works!<br></body></html>", content_type="text/html")

        application.router.add_route("*", "/{path:.*}", page)
        runner = web.AppRunner(application, shutdown_timeout=0.1)
        await runner.setup()
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(authority.server_file)
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        address = f"127.0.0.1:{runner.addresses[0][1]}"
        try:
            await ask_all({"host": address, "ca_file": authority.file, "user": "u", "password": "p"}, 1)
        finally:
            await runner.cleanup()

    with pytest.raises(CollectorError) as caught:
        asyncio.run(run())
    assert caught.value.failure is Failure.MISCONFIGURED


@pytest.mark.parametrize(
    ("method", "value", "reported", "other", "problem"),
    [
        ("CurrentTime", None, "</soapenv", "</soapenv", 'Required field "the result" not provided'),
        (
            "CreateContainerView",
            vim.view.ContainerView("view-1", None),
            'type="ContainerView"',
            'type="Datastore"',
            'For "the result" expected type vim.view.ContainerView, but got vim.Datastore',
        ),
        (
            "QueryAvailablePerfMetric",
            [vim.PerformanceManager.MetricId(counterId=1, instance="")],
            '<returnval versionId="8.0.3.0"><counterId>1</counterId><instance></instance>',
            '<returnval xsi:type="xsd:string">1',
            'For "entry of the result" expected type vim.PerformanceManager.MetricId',
        ),
    ],
)
def test_an_answer_of_another_type_than_the_api_declares_is_named(
    method: str, value: Any, reported: str, other: str, problem: str
) -> None:
    body = reply(method, value).decode()
    assert reported in body
    with pytest.raises(CollectorError, match=f"{method}: the answer is wrong") as caught:
        read_reply(VERSION, method, body.replace(reported, other).encode())
    assert problem in str(caught.value)
