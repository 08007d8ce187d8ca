"""Gate 9. Nothing of the machine reaches a customer, whoever wrote the text last."""

from typing import Final

from services.guardrails import clauses, disguises, leak_rules, leaks, views
from services.guardrails.examples import a_draft, some_facts
from services.guardrails.facts import Author, Draft, Facts, Language, Unknown, known
from services.guardrails.gate import Example, Gate, OnMissing, Span, Verdict, Wording, passed, veto
from services.guardrails.leaks import detect_leaks

_SAY_THE_EFFECT: Final = Wording(
    pt="Parte do texto fala dos bastidores. Reescreva dizendo só o que muda na vida desta pessoa, com palavras dela.",
    en="Part of the text speaks of what is behind the scenes. Rewrite it as what changes in this person's life.",
    es="Parte del texto habla de lo que hay detrás. Reescríbelo diciendo solo qué cambia en la vida de esta persona.",
)


def judge(draft: Draft, facts: Facts) -> Verdict:
    operations, allowed = known(facts.operations), known(facts.allowed_terms)
    findings = detect_leaks(draft.body, operations=operations, allowed=allowed)
    if not findings:
        return passed("operations", "allowed_terms")
    spans = tuple(Span(each.start, each.end, each.excerpt, each.category) for each in findings)
    return veto(
        "internal_vocabulary_leak", _SAY_THE_EFFECT.say(draft.language), "operations", "allowed_terms", spans=spans
    )


def _clear(why: str, body: str, language: Language = Language.PT_BR) -> Example:
    return Example(why, a_draft(body=body, language=language), some_facts())


def _stop(why: str, body: str, language: Language = Language.PT_BR) -> Example:
    return Example(why, a_draft(body=body, language=language), some_facts(), "internal_vocabulary_leak")


INTERNAL_VOCABULARY: Final = Gate(
    name="internal_vocabulary",
    judge=judge,
    on_missing=OnMissing.CLOSED,
    judges_text=True,
    rules=(leaks, leak_rules, disguises, views, clauses),
    clear=(
        _clear("imperative of rolar", "É só você role a tela até o seu perfil."),
        _clear("a stage by its name", "Sua proposta está na etapa Negociação."),
        _clear("a reference", "Seu pedido PED_2024_001 saiu para entrega."),
        _clear("an amount that looks like a status", "O total é R$ 403,00."),
        _clear("a handle", "Segue a gente: @loja_da_ana"),
        _clear("an e-mail address", "Escreva para ana_paula@loja.com.br"),
        _clear("a public address", "Veja em https://loja.com.br/novidades_de_maio"),
        _clear("a file name", "Mandei o contrato_final.pdf"),
        _clear("an administrator of a building", "Fale com o administrador do condomínio."),
        Example(
            "a software shop's own words",
            a_draft(body="O webhook recebe um JSON com o header certo."),
            some_facts(allowed_terms=frozenset({"webhook", "JSON", "header"})),
        ),
    ),
    stop=(
        _stop("a role and a permission", "seu perfil atual é agent, e essa alteração exige permissão de manager"),
        _stop("a word in brackets", "nenhuma entrada automática de contatos (webhook) configurada"),
        _stop("a word after a slash", "nenhuma entrada automática/webhook cadastrada"),
        _stop(
            "a raw error",
            "As execuções mais recentes deram erro na ação de webhook: `unsafe_url:https_required`",
        ),
        _stop("moved in the CRM", "Ótimo, acabei de mover seu contato aqui no nosso CRM"),
        _stop("an operation's name", "Usei crm_move_lead_stage para isso."),
        _stop("an operation's name in spaced words", "Usei crm move lead stage para isso."),
        _stop("spaced letters", "O w e b h o o k falhou."),
        Example(
            "after a person's edit too",
            a_draft(body="Bom dia, {{nome}}!", author=Author.PERSON),
            some_facts(),
            "internal_vocabulary_leak",
        ),
        Example("the catalogue is unknown", a_draft(), some_facts(operations=Unknown("timeout")), "fact_unavailable"),
    ),
)
