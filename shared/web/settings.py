"""Settings of every service with pages: how people sign in, and for how long."""

from typing import Literal
from urllib.parse import urlsplit

from shared.config import BusConfig

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class PagesConfig(BusConfig, frozen=True, kw_only=True):
    """Settings of every service with pages, beside those of every service."""

    profile: Literal["local", "cluster"] = "cluster"
    """`local` is one machine, on loopback. Only there can the built-in sign-in be switched on."""
    local_sign_in: bool = False
    """People sign in by their e-mail address alone. Refused outside the local profile."""
    people_file: str = ""
    """JSON array of `{"email", "name", "roles", "tenant", "language"}`: who may sign in locally, as what."""
    public_url: str = ""
    """Where people reach these pages, `https://approvals.example.com`; the provider sends them back there."""
    oidc_issuer: str = ""
    """The identity provider's issuer, as in its discovery document. Set: people sign in there."""
    oidc_client_id: str = ""
    oidc_client_secret: str = ""
    """Empty for a public client; PKCE is used either way."""
    oidc_scopes: str = "openid email profile"
    """What is asked of the provider; some give groups only to who asks for a scope of that name."""
    oidc_mapping: str = ""
    """JSON: which claims make somebody a person of which tenant, in which roles (deploy/README.md)."""
    oidc_ca_file: str = ""
    """Authorities of the provider's certificate (PEM), where it is not a public one."""
    step_up_minutes: float = 15.0
    """A critical decision wants a sign-in at the provider that is no older; 0: any living session decides."""
    step_up_acr: str = ""
    """The authentication class (`acr`) that a critical decision wants as well; empty: any."""
    session_hours: float = 12.0
    """How long a session lives."""
    session_idle_minutes: float = 60.0
    """How long a session lives that nobody uses."""

    def __post_init__(self) -> None:
        """Refuse a sign-in without secrets where others could reach it, and one that cannot work."""
        if self.local_sign_in and self.profile != "local":
            raise ValueError(
                "CHANCELA_LOCAL_SIGN_IN=true needs CHANCELA_PROFILE=local; elsewhere people sign in by OIDC"
            )
        if self.local_sign_in and not self.people_file:
            raise ValueError("CHANCELA_LOCAL_SIGN_IN=true needs CHANCELA_PEOPLE_FILE")
        if self.oidc_issuer:
            self._check_provider()

    def _check_provider(self) -> None:
        if self.local_sign_in:
            raise ValueError("CHANCELA_OIDC_ISSUER and CHANCELA_LOCAL_SIGN_IN=true: people sign in one way, not two")
        for name in ("oidc_client_id", "oidc_mapping", "public_url"):
            if not getattr(self, name):
                raise ValueError(f"CHANCELA_OIDC_ISSUER needs CHANCELA_{name.upper()}")
        if not is_kept_secret(self.oidc_issuer):
            raise ValueError("CHANCELA_OIDC_ISSUER must begin with https://, or be on this machine")
        if self.profile == "cluster" and not self.public_url.startswith("https://"):
            raise ValueError(
                "CHANCELA_PUBLIC_URL must begin with https://: browsers keep the session's cookie only there"
            )


def is_kept_secret(url: str) -> bool:
    """Whether nobody on the way reads or changes what goes there: https, or this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
