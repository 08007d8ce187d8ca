"""Settings and the knowledge file."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from services.conversador.knowledge import read_pieces
from services.conversador.service import start
from shared.config import ConfigError
from shared.runtime import Context
from tests.conversador.people import TENANT, OpenConversador, configured

DEMO = Path(__file__).parents[2] / "services" / "conversador" / "demo_knowledge.json"


def test_the_demonstration_answers_in_both_languages_about_the_same_things() -> None:
    pieces = read_pieces(str(DEMO))
    assert Counter(piece.language for piece in pieces) == {"pt-BR": 6, "en": 6}
    assert len({piece.id_for(TENANT) for piece in pieces}) == len(pieces)


async def test_every_start_loads_the_file_and_the_second_changes_nothing(conversador_of: OpenConversador) -> None:
    url = "http://127.0.0.1:1/v1"
    one = await conversador_of(url)
    config = configured(url, knowledge_file=str(DEMO), knowledge_tenant=TENANT)
    no_bus: Any = None
    for _ in range(2):
        await start(Context("conversador", config, one.bench.db, None, no_bus))
    assert await one.value("select count(*) from knowledge where tenant = $1", TENANT) == 12


def test_a_knowledge_file_without_its_owner_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="CHANCELA_KNOWLEDGE_TENANT"):
        configured("http://127.0.0.1:1/v1", knowledge_file="knowledge.json")


@pytest.mark.parametrize("text", ['[{"title": "x"}]', "{}", "["])
def test_a_knowledge_file_of_another_form_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / "knowledge.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"knowledge\.json"):
        read_pieces(str(file))


def test_a_missing_knowledge_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_pieces(str(tmp_path / "none.json"))
