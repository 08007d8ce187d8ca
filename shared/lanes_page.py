"""`GET /lanes`: what stands still in a service, as a page for people or as JSON. No texts, no scripts, no buttons."""

from collections.abc import Mapping, Sequence
from html import escape

import msgspec

from shared.bus.repair import Standing

HTML = "text/html; charset=utf-8"
JSON = "application/json"

_WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "title": "What stands still in {service}",
        "stopped": "This process has stopped: {why}",
        "none": "Nothing stands still.",
        "outbox": "Outbox: {rows} messages not yet acknowledged, the oldest for {age}; {again} to be published again.",
        "lanes": "Lanes",
        "jobs": "Parked jobs",
        "parked": "parked",
        "gap": "the message is missing",
        "waiting": "waiting",
        "cut": "There is more than what is listed.",
        "repair": "To repair: chancela lanes list {service}",
        "lane": "lane",
        "position": "position",
        "state": "state",
        "message": "message",
        "why": "why",
        "attempts": "attempts",
        "since": "for",
        "stored": "waiting",
        "job": "job",
        "kind": "kind",
        "key": "key",
    },
    "pt": {
        "title": "O que está parado em {service}",
        "stopped": "Este processo parou: {why}",
        "none": "Nada está parado.",
        "outbox": "Saída: {rows} mensagens ainda sem confirmação, a mais antiga há {age}; {again} a publicar de novo.",
        "lanes": "Filas",
        "jobs": "Tarefas paradas",
        "parked": "parada",
        "gap": "falta a mensagem",
        "waiting": "em espera",
        "cut": "Há mais do que está listado.",
        "repair": "Para reparar: chancela lanes list {service}",
        "lane": "fila",
        "position": "posição",
        "state": "estado",
        "message": "mensagem",
        "why": "motivo",
        "attempts": "tentativas",
        "since": "há",
        "stored": "em espera",
        "job": "tarefa",
        "kind": "tipo",
        "key": "chave",
    },
    "es": {
        "title": "Lo que está detenido en {service}",
        "stopped": "Este proceso se detuvo: {why}",
        "none": "Nada está detenido.",
        "outbox": "Salida: {rows} mensajes sin confirmar, el más antiguo hace {age}; {again} por publicar de nuevo.",
        "lanes": "Filas",
        "jobs": "Tareas detenidas",
        "parked": "detenida",
        "gap": "falta el mensaje",
        "waiting": "en espera",
        "cut": "Hay más de lo que se muestra.",
        "repair": "Para reparar: chancela lanes list {service}",
        "lane": "fila",
        "position": "posición",
        "state": "estado",
        "message": "mensaje",
        "why": "motivo",
        "attempts": "intentos",
        "since": "hace",
        "stored": "en espera",
        "job": "tarea",
        "kind": "tipo",
        "key": "clave",
    },
}
_CODES = {"en": "en", "pt": "pt-BR", "es": "es"}
_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:2rem;max-width:90rem}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .8rem .3rem 0;vertical-align:top;"
    "border-bottom:1px solid color-mix(in srgb,currentColor 20%,transparent)}td{overflow-wrap:anywhere}"
)


def render(standing: Standing, *, accept: str, accept_language: str) -> tuple[str, bytes]:
    """Content type and body: JSON for who asks for `application/json`, else a page in pt-BR, es or en."""
    if "application/json" in accept:
        return JSON, msgspec.json.encode(standing)
    return HTML, _page(standing, language(accept_language)).encode()


def language(accept_language: str) -> str:
    """The best of `pt`, `es` and `en` by the header's weights; `en` when it names none of them."""
    best, weight = "en", 0.0
    for part in accept_language.split(","):
        tag, _, quality = part.partition(";")
        code = tag.strip().lower()[:2]
        value = _weight(quality)
        if code in _WORDS and value > weight:
            best, weight = code, value
    return best


def _weight(quality: str) -> float:
    name, _, number = quality.strip().partition("=")
    if name != "q":
        return 1.0
    try:
        return float(number)
    except ValueError:
        return 0.0


def _page(standing: Standing, code: str) -> str:
    words = _WORDS[code]
    title = escape(words["title"].format(service=standing.service))
    parts = [f"<h1>{title}</h1>"]
    if standing.stopped:
        parts.append(f"<p role=alert><strong>{escape(words['stopped'].format(why=standing.stopped))}</strong></p>")
    age = duration(standing.outbox_seconds)
    outbox = words["outbox"].format(rows=standing.outbox_rows, age=age, again=standing.again_rows)
    parts.append(f"<p>{escape(outbox)}</p>")
    if standing.lanes:
        head = ("lane", "position", "state", "message", "why", "attempts", "since", "stored")
        parts += _table("lanes", words, head, _lane_rows(standing, words))
    if standing.jobs:
        parts += _table(
            "jobs", words, ("job", "kind", "key", "why", "attempts", "since", "stored"), _job_rows(standing)
        )
    if standing.is_cut:
        parts.append(f"<p>{escape(words['cut'])}</p>")
    is_empty = not standing.lanes and not standing.jobs
    parts.append(f"<p>{escape(words['none'] if is_empty else words['repair'].format(service=standing.service))}</p>")
    return (
        f'<!doctype html><html lang="{_CODES[code]}"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><meta http-equiv="refresh" content="10">'
        f"<style>{_STYLE}</style></head><body><main>{''.join(parts)}</main></body></html>"
    )


def _lane_rows(standing: Standing, words: Mapping[str, str]) -> list[Sequence[object]]:
    return [
        (one.lane, one.seq, words[one.state], one.message, one.why, one.attempts, duration(one.seconds), one.stored)
        for one in standing.lanes
    ]


def _job_rows(standing: Standing) -> list[Sequence[object]]:
    return [
        (one.job, one.kind, one.key, one.why, one.attempts, duration(one.seconds), one.behind) for one in standing.jobs
    ]


def _table(name: str, words: Mapping[str, str], head: Sequence[str], rows: list[Sequence[object]]) -> list[str]:
    cells = "".join(f"<th scope=col>{escape(words[column])}</th>" for column in head)
    lines = ["".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return [f"<h2>{escape(words[name])}</h2>", f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"]


def duration(seconds: float) -> str:
    """`42 s`, `3 min`, `5 h`, `2 d`."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"
