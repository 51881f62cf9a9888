"""The configuration of a switch in sanpath.yaml."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from sanpath.plugin import SNMPV3_EXTRA, Extra, SecretStr, SnmpCredentials, SnmpUser, SourceConfig

_USER_KEYS = ("user", "auth_password")
_NO_ACCESS_GIVEN = "give community (SNMP v2c), or user, auth_password and privacy_password (SNMPv3)"
_PRIVACY_SETTINGS = ("privacy_protocol", "key_extension")
_USER_SETTINGS = ("auth_protocol", "privacy_password", *_PRIVACY_SETTINGS, "context")


class SnmpSwitchConfig(SourceConfig):
    """A switch that is read over SNMP: v2c with a community, or v3 with a user."""

    host: str = Field(min_length=1, description="IPv4 address or name of the SNMP agent")
    port: int = Field(default=161, ge=1, le=65535, description="UDP port of the SNMP agent")
    community: SecretStr | None = Field(
        default=None,
        description="SNMP v2c read community; this one, or the SNMPv3 user below",
        examples=["env:SNMP_COMMUNITY"],
    )
    user: str | None = Field(default=None, min_length=1, description="SNMPv3 user with authentication")
    auth_password: SecretStr | None = Field(default=None, description="the user's authentication password")
    auth_protocol: Literal["sha1", "sha224", "sha256", "sha384", "sha512", "md5"] = Field(
        default="sha256", description="digest of the authentication"
    )
    privacy_password: SecretStr | None = Field(
        default=None,
        description="the user's privacy password; default: authentication alone, everybody can read the answers",
    )
    privacy_protocol: Literal["aes128", "aes192", "aes256"] = Field(
        default="aes128", description="cipher of the privacy"
    )
    key_extension: Literal["blumenthal", "reeder"] = Field(
        default="blumenthal",
        description="how a digest that is too short for the cipher is extended (Cisco: reeder); matters "
        "for md5, sha1 and sha224 with aes256, and for md5 and sha1 with aes192",
    )
    context: str = Field(default="", description="SNMPv3 context, such as a virtual fabric; default: the agent's own")
    every_seconds: float = Field(
        default=5.0,
        gt=0,
        description="seconds between polls; agents refresh their counters every few seconds",
    )

    @model_validator(mode="after")
    def _check_access(self) -> SnmpSwitchConfig:
        user_keys = [key for key in _USER_KEYS if getattr(self, key) is not None]
        settings = [key for key in _USER_SETTINGS if key in self.model_fields_set]
        private = [key for key in _PRIVACY_SETTINGS if key in self.model_fields_set]
        problem = ""
        if self.community is not None and (user_keys or settings):
            problem = f"community is SNMP v2c, {', '.join(user_keys + settings)} SNMPv3: give one or the other"
        elif self.community is None and len(user_keys) < len(_USER_KEYS):
            missing = [key for key in _USER_KEYS if key not in user_keys]
            problem = f"SNMPv3 also needs {', '.join(missing)}" if user_keys or settings else _NO_ACCESS_GIVEN
        elif self.user is not None and self.privacy_password is None and private:
            problem = f"{', '.join(private)} needs privacy_password"
        if problem:
            raise PydanticCustomError("snmp_access", "{problem}", {"problem": problem})
        return self

    @property
    def extras(self) -> tuple[Extra, ...]:
        """The library that encrypts, for a user with privacy."""
        return () if self.privacy_password is None else (SNMPV3_EXTRA,)

    def credentials(self) -> SnmpCredentials:
        """Return the agent's address, and the community or the user."""
        user = None
        if self.user is not None and self.auth_password is not None:
            user = SnmpUser(
                self.user,
                self.auth_password,
                self.privacy_password,
                self.auth_protocol,
                self.privacy_protocol,
                self.key_extension,
                self.context,
            )
        return SnmpCredentials(self.host, self.port, self.community, user=user)
