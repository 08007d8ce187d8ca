"""The ways to a sign-in, and where it leads back to: a page of ours, whatever the address asked for. Pure."""

from typing import Final
from urllib.parse import urlencode, urlsplit

from shared.web.why import Why

HOME: Final = "/"
_LONGEST: Final = 1_000
_ELSEWHERE: Final = ("//", "/sign-in", "/sign-out")


def inside(wanted: str) -> str:
    r"""The path if it is one of this host; else the first page.

    Browsers read `//host`, `/\host` and addresses with stray control characters as another host.
    """
    if not wanted.startswith("/") or len(wanted) > _LONGEST or "\\" in wanted:
        return HOME
    if not wanted.isprintable() or " " in wanted or wanted.startswith(_ELSEWHERE):
        return HOME
    try:
        parts = urlsplit(wanted)
    except ValueError:
        return HOME
    return HOME if parts.scheme or parts.netloc else wanted


def sign_in_page(back: str = "", why: Why | None = None) -> str:
    """The address of the sign-in page, with where to go on and what went wrong."""
    told = {name: value for name, value in (("next", inside(back) if back else ""), ("why", why)) if value}
    return f"/sign-in?{urlencode(told)}" if told else "/sign-in"


def start_page(back: str, *, is_fresh_wanted: bool = False) -> str:
    """Where the provider takes over: a session begins there, or becomes fresh again, and `back` is shown."""
    return f"/sign-in/start?{urlencode({'next': inside(back), **({'fresh': 1} if is_fresh_wanted else {})})}"
