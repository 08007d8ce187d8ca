"""Settings of the approval service."""

from shared.web.settings import PagesConfig


class Config(PagesConfig, frozen=True, kw_only=True):
    """Settings of the approval service, beside those of every service with pages."""

    seal_key: str
    """The signing key of seal 1: `{"key_id": …, "seed": base64, "sign_until": RFC 3339}`."""
    expires_after_hours: float = 24.0
    """How long a text waits for a decision. Time never approves."""
    send_by_minutes: float = 60.0
    """How long an approval may wait to leave before it is asked for again."""
    may_editor_approve: bool = True
    """Whether the person who wrote a text may also approve it under the policy `single`."""
    phone_url: str = ""
    """Where the customers' phone of the local profile is served; the page shows it beside the approvals."""
