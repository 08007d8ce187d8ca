"""What the house knows, found by Postgres full text over folded words."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from services.conversador.knowledge import Piece
from services.conversador.tools import KnowledgeFound
from shared.db import Tx, Write
from shared.ids import derived_id
from shared.text import fold

MOST_HITS = 3
THRESHOLD = 0.02
"""Below this rank two texts share a word by accident."""

_SAVE = """
insert into knowledge (tenant, id, title, body, keywords, language, version, search)
values ($1, $2, $3, $4, $5, $6, $7,
  setweight(to_tsvector($8::text::regconfig, $9), 'A') || setweight(to_tsvector($8::text::regconfig, $10), 'B'))
on conflict (tenant, id) do update set title = excluded.title, body = excluded.body, keywords = excluded.keywords,
  version = excluded.version, search = excluded.search where knowledge.version <> excluded.version
"""
# A question shares some words with its answer, never all, and in other forms: any word, by the beginning of its stem.
_SEARCH = """
select k.id, k.title, k.body, k.version, ts_rank(k.search, q.words)::float8 as score
from (values ('pt-BR', 'portuguese'::regconfig), ('en', 'english'), ('es', 'spanish')) as l(language, config)
cross join lateral (select plainto_tsquery(l.config, $2)::text as stems) p
cross join lateral (select nullif(replace(p.stems, ''' & ''', ''':* | ''') || ':*', ':*')::tsquery as words) q
join knowledge k on k.tenant = $1 and k.language = l.language and k.search @@ q.words
where ts_rank(k.search, q.words) >= $4
order by k.language = $3 desc, score desc limit $5
"""
_CONFIGS = {"pt-BR": "portuguese", "en": "english", "es": "spanish"}


def save_piece(tenant: UUID, piece: Piece) -> Write:
    return Write(
        _SAVE,
        (
            tenant,
            piece.id_for(tenant),
            piece.title,
            piece.body,
            piece.keywords,
            piece.language,
            piece.version,
            _CONFIGS[piece.language],
            fold(f"{piece.title} {piece.keywords}").text,
            fold(piece.body).text,
        ),
    )


async def titles(tx: Tx, tenant: UUID, language: str) -> tuple[str, ...]:
    """The index of what is known, in the language where there is any."""
    rows = await tx.rows("select title, language from knowledge where tenant = $1 order by title", tenant)
    same = tuple(row["title"] for row in rows if row["language"] == language)
    return same or tuple(row["title"] for row in rows)


async def search(tx: Tx, tenant: UUID, query: str, language: str) -> list[KnowledgeFound]:
    rows = await tx.rows(_SEARCH, tenant, fold(query).text, language, THRESHOLD, MOST_HITS)
    return [_found(row) for row in rows]


def save_search(
    tenant: UUID, turn_id: UUID, query: str, found: Sequence[KnowledgeFound], *, key: str, at: datetime
) -> Write:
    top = max((one.score for one in found), default=0.0)
    return Write(
        """insert into knowledge_search (id, tenant, turn_id, query, hits, top_score, threshold, at)
           values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (id) do nothing""",
        (derived_id(turn_id, f"search-{key}"), tenant, turn_id, query, len(found), top, THRESHOLD, at),
    )


def _found(row: Any) -> KnowledgeFound:
    return KnowledgeFound(str(row["id"]), row["title"], row["body"], row["version"], row["score"])
