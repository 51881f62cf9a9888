"""A switch is read with a community or with an SNMPv3 user; a mix of both is one mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.config import load_config
from sanpath.errors import ConfigError
from sanpath_collectors.snmp_switch.config import SnmpSwitchConfig

AUTHENTICATED = "user: sanpath, auth_password: 'env:SECRET'"
V3 = f"{AUTHENTICATED}, privacy_password: 'env:SECRET'"


def loaded(folder: Path, keys: str) -> SnmpSwitchConfig:
    file = folder / "sanpath.yaml"
    file.write_text(
        f"sources:\n  - {{name: sw1, collector: snmp_switch, host: 192.0.2.1, {keys}}}\n", encoding="utf-8"
    )
    (source,) = load_config(file).sources
    assert isinstance(source, SnmpSwitchConfig)
    return source


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "told-to-nobody")


def test_a_community_is_version_2c(tmp_path: Path) -> None:
    who = loaded(tmp_path, "community: 'env:SECRET'").credentials()
    assert who.user is None
    assert who.community is not None
    assert who.community.get_secret_value() == "told-to-nobody"


def test_a_user_is_version_3_with_the_defaults_of_today(tmp_path: Path) -> None:
    who = loaded(tmp_path, V3).credentials()
    assert who.community is None
    assert who.user is not None
    assert (who.user.auth_protocol, who.user.privacy_protocol) == ("sha256", "aes128")
    assert (who.user.key_extension, who.user.context) == ("blumenthal", "")


def test_a_user_without_a_privacy_password_is_authenticated_alone(tmp_path: Path) -> None:
    user = loaded(tmp_path, AUTHENTICATED).credentials().user
    assert user is not None
    assert user.privacy_password is None


def test_every_setting_of_a_user_reaches_the_session(tmp_path: Path) -> None:
    more = "auth_protocol: sha1, privacy_protocol: aes256, key_extension: reeder, context: vf128"
    user = loaded(tmp_path, f"{V3}, {more}").credentials().user
    assert user is not None
    assert (user.auth_protocol, user.privacy_protocol, user.key_extension) == ("sha1", "aes256", "reeder")
    assert user.context == "vf128"


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ("port: 161", r"give community \(SNMP v2c\), or user, auth_password and privacy_password"),
        (f"community: 'env:SECRET', {V3}", "give one or the other"),
        ("community: 'env:SECRET', auth_protocol: sha1", "auth_protocol SNMPv3: give one or the other"),
        ("user: sanpath", "SNMPv3 also needs auth_password"),
        ("user: sanpath, privacy_password: 'env:SECRET'", "SNMPv3 also needs auth_password"),
        (f"{AUTHENTICATED}, key_extension: reeder", "key_extension needs privacy_password"),
        ("context: vf128", "SNMPv3 also needs user, auth_password"),
        (f"{V3}, privacy_protocol: des", "'aes128', 'aes192' or 'aes256'"),
    ],
)
def test_a_wrong_mix_is_one_mistake_with_its_place(tmp_path: Path, keys: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        loaded(tmp_path, keys)
    assert caught.value.line == 2
    assert "told-to-nobody" not in str(caught.value)
    assert "\n" not in str(caught.value)
