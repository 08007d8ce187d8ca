"""Why somebody is not signed in: codes that pages word, each with the status of its page."""

from collections.abc import Mapping
from typing import Final, Literal

Why = Literal[
    "provider_down", "busy", "declined", "not_verified", "too_late", "not_fresh", "no_email", "unverified_email",
    "no_tenant", "several_tenants", "no_role", "another_account", "inactive", "unknown",
]  # fmt: skip

STATUS: Final[Mapping[str, int]] = {
    "provider_down": 503,
    "busy": 429,
    "declined": 403,
    "not_verified": 400,
    "too_late": 400,
    "not_fresh": 403,
    "no_email": 403,
    "unverified_email": 403,
    "no_tenant": 403,
    "several_tenants": 403,
    "no_role": 403,
    "another_account": 403,
    "inactive": 403,
    "unknown": 403,
}
