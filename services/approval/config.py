"""Settings of the approval service."""

from typing import Literal

from shared.config import BusConfig


class Config(BusConfig, frozen=True, kw_only=True):
    """Settings of the approval service, beside those of every service."""

    seal_key: str
    """The signing key of seal 1: `{"key_id": …, "seed": base64, "sign_until": RFC 3339}`."""
    profile: Literal["local", "cluster"] = "cluster"
    """`local` is one machine, on loopback. Only there can the built-in sign-in be switched on."""
    local_sign_in: bool = False
    """People sign in by their e-mail address alone. Refused outside the local profile."""
    people_file: str = ""
    """JSON array of `{"email", "name", "roles", "tenant", "language"}`: who may sign in locally, as what."""
    expires_after_hours: float = 24.0
    """How long a text waits for a decision. Time never approves."""
    send_by_minutes: float = 60.0
    """How long an approval may wait to leave before it is asked for again."""
    may_editor_approve: bool = True
    """Whether the person who wrote a text may also approve it under the policy `single`."""
    phone_url: str = ""
    """Where the customers' phone of the local profile is served; the page shows it beside the approvals."""
    session_hours: float = 12.0
    """How long a session lives."""

    def __post_init__(self) -> None:
        """Refuse a sign-in without secrets where others could reach it."""
        if self.local_sign_in and self.profile != "local":
            raise ValueError(
                "CHANCELA_LOCAL_SIGN_IN=true needs CHANCELA_PROFILE=local; elsewhere people sign in by OIDC"
            )
        if self.local_sign_in and not self.people_file:
            raise ValueError("CHANCELA_LOCAL_SIGN_IN=true needs CHANCELA_PEOPLE_FILE")
