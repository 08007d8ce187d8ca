"""What sign-in rests on, without a provider: who claims make somebody, ways back, settings, bounds."""

import json
from typing import Any
from uuid import UUID

import pytest
from joserfc import jwk

from shared.config import ConfigError, load
from shared.web.bounds import ADDRESSES, FAILURES, WINDOW_SECONDS, Failures
from shared.web.claims import Identity, MappingError, identify, read_mapping
from shared.web.id_token import key_set
from shared.web.returning import inside, sign_in_page, start_page
from shared.web.settings import PagesConfig

TENANT = UUID("0c000000-0000-4000-8000-000000000001")
MAPPING: dict[str, Any] = {
    "tenant": {"claim": "org", "values": {"north": str(TENANT)}},
    "roles": {"claim": ["realm_access", "roles"], "values": {"approvers": ["approver"], "all": ["viewer", "approver"]}},
}
CLAIMS: dict[str, Any] = {
    "iss": "https://id.example", "sub": "7", "email": " Ana@Example.com ", "org": "north", "locale": "pt_BR",
    "name": "Ana\u202e\n Lima", "realm_access": {"roles": ["approvers", "all", "else", 3]},
}  # fmt: skip


def test_a_person_is_who_the_mapping_makes_of_the_claims() -> None:
    found = identify(CLAIMS, read_mapping(json.dumps(MAPPING), {"approver", "viewer"}))
    assert isinstance(found, Identity)
    assert (found.subject, found.person.tenant, found.person.email) == (
        "https://id.example 7",
        TENANT,
        "ana@example.com",
    )
    assert (found.person.name, found.person.language) == ("Ana Lima", "pt-BR")
    assert found.person.roles == ("approver", "viewer")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"roles": {"claim": "groups", "values": {"x": ["god"]}}}, "god is none of"),
        ({"tenant": {}}, "either"),
        ({"tenant": {"always": str(TENANT), "claim": "org"}}, "either"),
        ({"tenant": {"always": "north"}}, "UUID"),
        ({"roles": {}}, "claim"),
        ({"tenants": {}}, "unknown field"),
    ],
)
def test_a_mapping_that_says_something_else_is_refused(changed: dict[str, Any], why: str) -> None:
    with pytest.raises(MappingError, match=why):
        read_mapping(json.dumps(MAPPING | changed), {"approver", "viewer"})


@pytest.mark.parametrize("there", ["/", "/approvals", "/approvals/1?show=open&x=//y", "/é"])
def test_a_page_of_ours_is_gone_back_to(there: str) -> None:
    assert inside(there) == there


@pytest.mark.parametrize(
    "there",
    [
        "", "x", "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example",
        "/\t/evil.example", "/\n/evil.example", " /approvals", "/a b", "javascript:alert(1)", "/sign-in/start",
        "/sign-out", "/" + "x" * 1000, "/\u200b",
    ],
)  # fmt: skip
def test_anything_else_is_the_first_page(there: str) -> None:
    assert inside(there) == "/"
    assert "evil" not in sign_in_page(there) + start_page(there, is_fresh_wanted=True)


NEEDED = {f"CHANCELA_{name}": "x" for name in ("DATABASE_URL", "NATS_URL", "NATS_SEED", "DIGEST_KEY")}
OIDC = {
    "CHANCELA_OIDC_ISSUER": "https://id.example", "CHANCELA_OIDC_CLIENT_ID": "approval", "CHANCELA_OIDC_MAPPING": "{}",
    "CHANCELA_PUBLIC_URL": "https://approval.example",
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"CHANCELA_OIDC_CLIENT_ID": ""}, "CHANCELA_OIDC_CLIENT_ID"),
        ({"CHANCELA_OIDC_MAPPING": ""}, "CHANCELA_OIDC_MAPPING"),
        ({"CHANCELA_PUBLIC_URL": ""}, "CHANCELA_PUBLIC_URL"),
        ({"CHANCELA_PUBLIC_URL": "http://approval.example"}, "CHANCELA_PUBLIC_URL"),
        ({"CHANCELA_OIDC_ISSUER": "http://id.example"}, "CHANCELA_OIDC_ISSUER"),
        (
            {"CHANCELA_LOCAL_SIGN_IN": "true", "CHANCELA_PROFILE": "local", "CHANCELA_PEOPLE_FILE": "x"},
            "one way, not two",
        ),
    ],
)
def test_a_sign_in_that_cannot_work_or_is_not_safe_stops_the_start(changed: dict[str, str], named: str) -> None:
    assert load(PagesConfig, NEEDED | OIDC).oidc_issuer
    with pytest.raises(ConfigError, match=named):
        load(PagesConfig, NEEDED | OIDC | changed)


def test_only_the_newest_failures_of_an_address_count() -> None:
    failures = Failures()
    for second in range(FAILURES):
        assert not failures.are_too_many("a", second)
        failures.add("a", second)
    assert failures.are_too_many("a", FAILURES)
    assert not failures.are_too_many("b", FAILURES)
    assert not failures.are_too_many("a", WINDOW_SECONDS + 1)
    for address in range(ADDRESSES):
        failures.add(str(address), FAILURES)
    assert not failures.are_too_many("a", FAILURES)


def test_keys_that_are_not_for_signatures_or_of_no_kind_that_we_know_are_left_out() -> None:
    sealing = jwk.RSAKey.generate_key(2048).as_dict(private=False) | {"use": "enc"}
    useless = [{"kty": "new"}, {"kty": "oct", "k": "c2VjcmV0IHNlY3JldCBzZWNyZXQ"}, {"kty": "RSA"}, {}, sealing]
    assert key_set({"keys": useless}).keys == []
