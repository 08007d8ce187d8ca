import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from services.approval.http import app
from services.approval.people import RIGHTS
from services.approval.start import start
from shared.config import ConfigError
from shared.web.people_file import PeopleFileError, read_people
from tests.approval.office import ANA, TENANT, Office

EVA = {"tenant": str(TENANT), "email": "Eva@Example.com", "name": "Eva", "roles": ["approver"]}


async def test_the_people_file_is_who_may_sign_in(office: Office, tmp_path: Path) -> None:
    file = tmp_path / "people.json"
    file.write_text(json.dumps([EVA]))
    office.context.config = structs.replace(office.context.config, people_file=str(file))
    await start(office.context)
    active = await office.bench.rows("select email from person where is_active")
    assert [row["email"] for row in active] == ["eva@example.com"]
    assert await office.bench.value("select count(*) from person where email = $1", ANA) == 1


async def test_a_setting_that_does_not_serve_stops_the_start_and_is_named(office: Office) -> None:
    good = office.context.config
    for changed, name in (
        ({"seal_key": "nonsense"}, "CHANCELA_SEAL_KEY"),
        ({"people_file": "missing.json"}, "CHANCELA_PEOPLE_FILE"),
    ):
        office.context.config = structs.replace(good, **changed)
        with pytest.raises(ConfigError, match=name):
            await start(office.context)
    office.context.web_db = None
    with pytest.raises(ConfigError, match="CHANCELA_DATABASE_WEB_URL"):
        await start(office.context)


@pytest.mark.parametrize(
    ("changed", "name"),
    [({"oidc_mapping": "{}"}, "CHANCELA_OIDC_MAPPING"), ({"oidc_ca_file": "missing.pem"}, "CHANCELA_OIDC_CA_FILE")],
)
async def test_a_provider_that_is_set_up_wrongly_stops_the_start_and_is_named(
    office: Office, changed: dict[str, Any], name: str
) -> None:
    provider = {"oidc_issuer": "https://id.example", "oidc_client_id": "us", "public_url": "https://us.example"}
    known = {"local_sign_in": False, "oidc_mapping": documented_mapping(), **provider}
    office.context.config = structs.replace(office.context.config, **known)
    app(office.context)
    office.context.config = structs.replace(office.context.config, **changed)
    with pytest.raises(ConfigError, match=name):
        app(office.context)


def documented_mapping() -> str:
    """The example of deploy/README.md."""
    text = (Path(__file__).resolve().parents[2] / "deploy/README.md").read_text(encoding="utf-8")
    return text.partition("```json\n")[2].partition("```")[0]


@pytest.mark.parametrize("people", [{}, [EVA | {"roles": ["god"]}], [EVA, EVA], [EVA | {"password": "x"}]])
def test_a_people_file_that_says_something_else_is_refused(people: object) -> None:
    with pytest.raises(PeopleFileError):
        read_people(json.dumps(people), RIGHTS)
