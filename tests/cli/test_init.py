"""`sanpath init`: an example that can be filled in, and is read as it stands once its secrets exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from pydantic import SecretStr
from typer.testing import CliRunner, Result

from sanpath import registry
from sanpath.cli import app
from sanpath.cli.commands.init import example
from sanpath.config import load_config
from sanpath.errors import ConfigError, UsageError

READERS = [name for name in registry.names() if registry.spec(name).config is not None]
REFERENCE = re.compile(r"env:(\w+)")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["init", *arguments])


def uncommented(text: str) -> str:
    """With every key that may be left out, as the head of the example says."""
    return re.sub(r"(?m)^( *)#(?=\S)", r"\1", text)


def with_secrets(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in REFERENCE.findall(text):
        if name != "NAME":  # the form of a reference, in the head
            monkeypatch.setenv(name, "secret")


def test_the_example_is_read_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "sanpath.yaml"
    result = run("--into", str(file))
    assert result.exit_code == 0, result.output
    assert "sanpath check" in result.stdout
    with_secrets(file.read_text(encoding="utf-8"), monkeypatch)
    assert [source.collector for source in load_config(file).sources] == READERS


def test_without_its_secrets_only_the_reference_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "sanpath.yaml"
    run("--into", str(file))
    with pytest.raises(ConfigError, match=r"environment variable \w+ is not set"):
        load_config(file)


@pytest.mark.parametrize("name", READERS)
def test_every_key_is_there_with_its_meaning(name: str) -> None:
    text = example([name])
    schema = registry.spec(name).config
    assert schema is not None
    everything = yaml.safe_load(uncommented(text))
    (source,) = everything["sources"]
    assert list(source.keys() - schema.model_fields.keys()) == []
    assert list(schema.model_fields.keys() - source.keys()) == []
    prose = " ".join(line.strip("# ") for line in text.splitlines())
    for key, field in schema.model_fields.items():
        if key not in ("name", "collector"):
            assert field.description is not None
            assert field.description in prose
        if SecretStr in (field.annotation, *getattr(field.annotation, "__args__", ())):
            assert str(source[key]).startswith("env:")


def test_the_commented_topology_holds(tmp_path: Path) -> None:
    text = example(["linux_host"])
    file = tmp_path / "sanpath.yaml"
    file.write_text(uncommented(text[text.index("#topology:") :]), encoding="utf-8")
    config = load_config(file)
    assert [thing.kind for thing in config.entities] == ["hba"]
    assert [tie.relation for tie in config.links] == ["runs_on", "attached_to"]
    assert config.keep_seconds == 24 * 3600


def test_only_the_collectors_that_are_named_are_in_it() -> None:
    text = example(["snmp_switch", "linux_host", "snmp_switch"])
    assert [source["collector"] for source in yaml.safe_load(text)["sources"]] == ["snmp_switch", "linux_host"]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "sanpath.yaml"
    file.write_text("mine", encoding="utf-8")
    result = run("--into", str(file))
    assert isinstance(result.exception, UsageError)
    assert result.exception.exit_code == 2
    assert str(file) in str(result.exception)
    assert file.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("name", "said"), [("snmp_swich", "did you mean snmp_switch"), ("fio", "needs no configuration")]
)
def test_a_collector_that_is_no_source_is_a_wrong_use(tmp_path: Path, name: str, said: str) -> None:
    result = run("--into", str(tmp_path / "x.yaml"), "--collector", name)
    assert isinstance(result.exception, UsageError)
    assert said in str(result.exception)
    assert not (tmp_path / "x.yaml").exists()


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    result = run("--into", str(tmp_path / "no" / "sanpath.yaml"))
    assert isinstance(result.exception, UsageError)
    assert "cannot be written" in str(result.exception)
