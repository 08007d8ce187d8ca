"""The catalogue of problems (RFC 9457): what can be refused, its status, and its words in three languages.

`type` is `/problems/<slug>`, which answers with this catalogue's entry.
"""

from typing import NamedTuple

import msgspec

from shared.web.languages import LANGUAGES

Member = str | int | bool | None | list[str]


class Kind(NamedTuple):
    """A problem type: title and detail as (pt-BR, en, es); a detail names its parameters in braces."""

    status: int
    title: tuple[str, str, str]
    detail: tuple[str, str, str]


class Problem(msgspec.Struct, frozen=True):
    """A refusal, as a value. `members` fill the detail and travel as extension members."""

    slug: str
    members: dict[str, Member] = {}

    @property
    def status(self) -> int:
        return CATALOGUE[self.slug].status


def document(problem: Problem, language: str) -> dict[str, Member]:
    """The problem document in a person's language."""
    kind = CATALOGUE[problem.slug]
    at = LANGUAGES.index(language)
    return {
        "type": f"/problems/{problem.slug}",
        "title": kind.title[at],
        "status": kind.status,
        "detail": kind.detail[at].format_map(_Words(problem.members)),
        **problem.members,
    }


class _Words(dict[str, Member]):
    def __missing__(self, key: str) -> str:
        return f"({key})"


CATALOGUE: dict[str, Kind] = {
    "unreadable": Kind(
        400,
        ("Pedido ilegível", "Unreadable request", "Petición ilegible"),
        (
            "O corpo do pedido não é JSON em UTF-8; confira-o e envie de novo.",
            "The request's body is not JSON in UTF-8; check it and send it again.",
            "El cuerpo de la petición no es JSON en UTF-8; revíselo y envíelo de nuevo.",
        ),
    ),
    "wrong-method": Kind(
        405,
        ("Este endereço não aceita isto", "This address does not take that", "Esta dirección no acepta eso"),
        (
            "Este método não serve aqui; o cabeçalho Allow diz qual serve.",
            "This method does not work here; the Allow header says which does.",
            "Este método no sirve aquí; el encabezado Allow dice cuál sirve.",
        ),
    ),
    "failed": Kind(
        500,
        ("Algo falhou do nosso lado", "Something failed on our side", "Algo falló de nuestro lado"),
        (
            "A causa está no registro do serviço. Veja como o item ficou antes de tentar de novo.",
            "The cause is in the service's log. See how the item stands before you try again.",
            "La causa está en el registro del servicio. Vea cómo quedó el elemento antes de reintentar.",
        ),
    ),
    "not-signed-in": Kind(
        401,
        ("Entre para continuar", "Sign in to continue", "Inicie sesión para continuar"),
        (
            "Esta página precisa de uma sessão ou de uma chave válida.",
            "This needs a session or a valid key.",
            "Esto necesita una sesión o una clave válida.",
        ),
    ),
    "csrf": Kind(
        403,
        ("Pedido sem confirmação da página", "Request not confirmed by the page", "Petición sin confirmación"),
        (
            "Falta o cabeçalho X-CSRF-Token desta sessão; recarregue a página.",
            "The X-CSRF-Token header of this session is missing; reload the page.",
            "Falta el encabezado X-CSRF-Token de esta sesión; recargue la página.",
        ),
    ),
    "sign-in-again": Kind(
        403,
        ("Confirme que é você", "Confirm that it is you", "Confirme que es usted"),
        (
            "Este texto pede uma entrada recente. Entre de novo em {url} e repita a decisão.",
            "This text wants a recent sign-in. Sign in again at {url} and repeat the decision.",
            "Este texto pide una entrada reciente. Entre de nuevo en {url} y repita la decisión.",
        ),
    ),
    "no-right": Kind(
        403,
        ("Você não pode fazer isto", "You may not do this", "Usted no puede hacer esto"),
        (
            "Falta o direito '{right}'. Peça-o a quem administra.",
            "You lack the right '{right}'. Ask an administrator for it.",
            "Le falta el derecho '{right}'. Pídalo a quien administra.",
        ),
    ),
    "sod-violation": Kind(
        403,
        ("Quem escreveu não aprova", "Authors do not approve", "Quien escribió no aprueba"),
        (
            "Você escreveu este texto; outra pessoa precisa aprová-lo.",
            "You wrote this text; somebody else has to approve it.",
            "Usted escribió este texto; otra persona debe aprobarlo.",
        ),
    ),
    "not-found": Kind(
        404,
        ("Não encontrado", "Not found", "No encontrado"),
        ("Não existe {what} com este id.", "There is no {what} with this id.", "No existe {what} con este id."),
    ),
    "already-decided": Kind(
        409,
        ("Já decidido", "Already decided", "Ya decidido"),
        (
            "{who} já decidiu em {when}; o estado é '{state}'.",
            "{who} decided at {when}; it is '{state}'.",
            "{who} decidió a las {when}; el estado es '{state}'.",
        ),
    ),
    "ended": Kind(
        409,
        ("Não espera mais decisão", "No longer waits for a decision", "Ya no espera una decisión"),
        ("O item está '{state}'.", "The item is '{state}'.", "El elemento está '{state}'."),
    ),
    "waiting-agent": Kind(
        409,
        ("O agente está reescrevendo", "The agent is rewriting", "El agente está reescribiendo"),
        (
            "O texto foi devolvido ao agente; espere o novo, edite-o ou retire o item.",
            "The text was sent back to the agent; wait for the new one, edit it, or withdraw the item.",
            "El texto fue devuelto al agente; espere el nuevo, edítelo o retire el elemento.",
        ),
    ),
    "context-changed": Kind(
        409,
        ("O cliente escreveu depois", "The customer wrote since", "El cliente escribió después"),
        (
            "A conversa está em {heard_context_revision}, o texto em {context_revision}. Leia e confirme.",
            "The conversation is at {heard_context_revision}, the text at {context_revision}. Read, then confirm.",
            "La conversación está en {heard_context_revision}, el texto en {context_revision}. Lea y confirme.",
        ),
    ),
    "repeats-uncertain": Kind(
        409,
        ("Texto igual a um envio incerto", "Same text as an uncertain send", "Mismo texto que un envío incierto"),
        (
            "O mesmo texto pode já ter chegado. Confirme com confirm_repeat para enviar de novo.",
            "The same text may have arrived already. Confirm with confirm_repeat to send it again.",
            "El mismo texto puede haber llegado ya. Confirme con confirm_repeat para enviarlo de nuevo.",
        ),
    ),
    "rounds-used-up": Kind(
        409,
        ("Devoluções esgotadas", "No rounds left", "Devoluciones agotadas"),
        (
            "O texto já voltou {rounds} vezes ao agente; edite-o, rejeite-o ou assuma a conversa.",
            "The text went back to the agent {rounds} times; edit it, reject it, or take over.",
            "El texto ya volvió {rounds} veces al agente; edítelo, rechácelo o asuma la conversación.",
        ),
    ),
    "wrong-version": Kind(
        409,
        ("Outra pessoa mudou isto", "Somebody else changed this", "Otra persona cambió esto"),
        (
            "A versão é {version}; o pedido esperava {expected}.",
            "The version is {version}; the request expected {expected}.",
            "La versión es {version}; la petición esperaba {expected}.",
        ),
    ),
    "in-progress": Kind(
        409,
        ("Pedido em andamento", "Request in progress", "Petición en curso"),
        (
            "Um pedido com esta Idempotency-Key ainda corre; tente de novo em instantes.",
            "A request with this Idempotency-Key is still running; try again in a moment.",
            "Una petición con esta Idempotency-Key aún está en curso; inténtelo en un momento.",
        ),
    ),
    "too-late": Kind(
        409,
        ("Tarde demais", "Too late", "Demasiado tarde"),
        (
            "O envio já começou ('{delivery}').",
            "The send has begun ('{delivery}').",
            "El envío ya empezó ('{delivery}').",
        ),
    ),
    "expired": Kind(
        410,
        ("Prazo esgotado", "Expired", "Plazo vencido"),
        (
            "O prazo para decidir terminou em {expired_at}; o tempo nunca aprova.",
            "The time to decide ended at {expired_at}; time never approves.",
            "El plazo para decidir terminó a las {expired_at}; el tiempo nunca aprueba.",
        ),
    ),
    "stale-revision": Kind(
        412,
        ("O texto mudou após você abri-lo", "The text changed since you opened it", "El texto cambió tras abrirlo"),
        (
            "Você viu a época {seen_epoch}; a atual é {epoch} ({shown}), de {author}. Leia o novo texto.",
            "You saw epoch {seen_epoch}; it is now {epoch} ({shown}), by {author}. Read the new text.",
            "Usted vio la época {seen_epoch}; ahora es {epoch} ({shown}), de {author}. Lea el nuevo texto.",
        ),
    ),
    "unfit": Kind(
        422,
        ("Campo não aceito", "Field not accepted", "Campo no aceptado"),
        (
            "{field}: {size} caracteres; o limite é {limit}, e vazio não é aceito.",
            "{field}: {size} characters; the limit is {limit}, and empty is not accepted.",
            "{field}: {size} caracteres; el límite es {limit}, y vacío no se acepta.",
        ),
    ),
    "invalid": Kind(
        422,
        ("Pedido inválido", "Invalid request", "Petición inválida"),
        ("{field}: {why}", "{field}: {why}", "{field}: {why}"),
    ),
    "key-reused": Kind(
        422,
        (
            "Idempotency-Key usada com outro pedido",
            "Idempotency-Key used with another request",
            "Idempotency-Key usada con otra petición",
        ),
        (
            "Esta chave já foi usada com outro conteúdo; gere uma nova.",
            "This key was used with another body; make a new one.",
            "Esta clave se usó con otro contenido; genere una nueva.",
        ),
    ),
    "unavailable": Kind(
        503,
        ("Indisponível por instantes", "Unavailable for a moment", "No disponible por un momento"),
        (
            "O banco de dados não respondeu; tente de novo com a mesma Idempotency-Key.",
            "The database did not answer; try again with the same Idempotency-Key.",
            "La base de datos no respondió; intente de nuevo con la misma Idempotency-Key.",
        ),
    ),
    "cannot-seal": Kind(
        503,
        ("Não é possível selar agora", "Cannot seal now", "No se puede sellar ahora"),
        (
            "A chave de assinatura não serve ({why}); nada foi decidido. Avise quem administra.",
            "The signing key does not serve ({why}); nothing was decided. Tell an administrator.",
            "La clave de firma no sirve ({why}); nada fue decidido. Avise a quien administra.",
        ),
    ),
    "precondition-required": Kind(
        428,
        ("Falta um cabeçalho", "A header is missing", "Falta un encabezado"),
        (
            "Envie {header}; ele prova o que você viu.",
            "Send {header}; it proves what you saw.",
            "Envíe {header}; prueba lo que usted vio.",
        ),
    ),
}  # fmt: skip
