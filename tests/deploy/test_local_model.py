"""The local model over real HTTP, through the openai client that the services use."""

import json
from collections.abc import Iterator
from typing import Any, cast

import jsonschema
import openai
import pytest

from tests.deploy.programs import ask, free_port, running

Message = dict[str, Any]

SPEAK = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "intent": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "needs_person": {"type": "boolean", "default": False},
        "needs_case": {"type": "boolean", "default": False},
    },
    "required": ["text"],
    "additionalProperties": False,
}
SEARCH = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
CHECKPOINT: dict[str, Any] = {
    "$ref": "#/$defs/Checkpoint",
    "$defs": {
        "Checkpoint": {
            "type": "object",
            "properties": {
                "commitments": {"type": "array", "items": {"type": "string"}},
                "objections": {"type": "array", "items": {"type": "string"}},
                "next_action": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "rolling_summary": {"type": "string"},
                "declaration": {"anyOf": [{"$ref": "#/$defs/Declaration"}, {"type": "null"}]},
            },
            "required": ["commitments", "objections", "next_action", "rolling_summary", "declaration"],
            "additionalProperties": False,
        },
        "Declaration": {
            "type": "object",
            "properties": {
                "intents": {"type": "array", "items": {"$ref": "#/$defs/Intent"}},
                "promises": {"type": "array", "items": {"$ref": "#/$defs/Promise"}},
                "nothing_to_declare": {"type": "boolean"},
            },
            "required": ["intents", "promises", "nothing_to_declare"],
            "additionalProperties": False,
        },
        "Intent": {
            "type": "object",
            "properties": {"what": {"type": "string"}, "evidence": {"type": "string"}},
            "required": ["what", "evidence"],
            "additionalProperties": False,
        },
        "Promise": {
            "type": "object",
            "properties": {
                "what": {"type": "string"},
                "due": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
            },
            "required": ["what", "due"],
            "additionalProperties": False,
        },
    },
}
OPERATIONS: dict[str, dict[str, Any]] = {
    "create_task": {"lead_id": "string", "title": "string"},
    "add_tag": {"lead_id": "string", "tag": "string"},
    "move_stage": {"lead_id": "string", "stage": "string"},
    "open_case": {"conversation_id": "string", "reason": "string"},
    "record_fact": {"lead_id": "string", "name": "string", "value": "string"},
}
KNOWLEDGE = {
    "hits": [
        {"text": "Abrimos de segunda a sexta, das 8h às 18h. Aos domingos não abrimos."},
        {"text": "A limpeza custa R$ 180,00. O clareamento custa R$ 900,00."},
    ]
}
REFUSED = {
    "status": "refused",
    "problems": [{"phrase": "search_knowledge"}],
    "instruction": "Say what it means to them.",
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running("deploy.local.model", free_port()) as address:
        yield address


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{address}/v1", api_key="any", max_retries=0) as client:
        yield client


def tool(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def customer(*texts: str) -> list[Message]:
    return [
        {"role": "system", "content": "Você é a voz da clínica."},
        *({"role": "user", "content": text} for text in texts),
    ]


def complete(client: openai.OpenAI, messages: list[Message], **options: Any) -> Any:
    create = cast("Any", client.chat.completions.create)
    return create(model="chancela-local", messages=messages, **options).choices[0].message


def spoken(
    client: openai.OpenAI, messages: list[Message], *answers: dict[str, Any]
) -> list[tuple[str, dict[str, Any]]]:
    """Every call of a speaking turn, until the model has nothing left to say; each send meets the next answer."""
    tools, calls, waiting = [tool("send_message", SPEAK), tool("search_knowledge", SEARCH)], list[Any](), list(answers)
    messages = list(messages)
    while said := complete(client, messages, tools=tools).tool_calls:
        [call] = said
        calls.append((call.function.name, json.loads(call.function.arguments)))
        sent = waiting.pop(0) if waiting else {"status": "accepted"}
        result = KNOWLEDGE if call.function.name == "search_knowledge" else sent
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call.model_dump()]},
            {"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)},
        ]
    return calls


def text_of(calls: list[tuple[str, dict[str, Any]]]) -> str:
    name, arguments = calls[-1]
    assert name == "send_message"
    return arguments["text"]


def closed(client: openai.OpenAI, messages: list[Message], reply: str) -> str:
    asked = {"type": "json_schema", "json_schema": {"name": "checkpoint", "schema": CHECKPOINT, "strict": True}}
    ending = [{"role": "assistant", "content": reply}, {"role": "user", "content": "Feche o turno."}]
    return complete(client, [*messages, *ending], response_format=asked).content


def declared(client: openai.OpenAI, messages: list[Message], reply: str) -> dict[str, Any]:
    checkpoint = json.loads(closed(client, messages, reply))
    jsonschema.validate(checkpoint, CHECKPOINT)
    return checkpoint["declaration"]


def operated(client: openai.OpenAI, *evidence: str, promises: tuple[str, ...] = ()) -> list[tuple[str, dict[str, Any]]]:
    state = {
        "lead_id": "lead-7",
        "conversation_id": "conversation-9",
        "declaration": {
            "intents": [{"what": "?", "evidence": words} for words in evidence],
            "promises": [{"what": what, "due": None} for what in promises],
        },
    }
    tools = [
        tool(
            name,
            {
                "type": "object",
                "properties": {key: {"type": kind} for key, kind in fields.items()},
                "required": list(fields),
            },
        )
        for name, fields in OPERATIONS.items()
    ]
    messages: list[Message] = [{"role": "user", "content": json.dumps(state, ensure_ascii=False)}]
    calls = list[Any](complete(client, messages, tools=tools).tool_calls or ())
    if calls:
        messages += [{"role": "assistant", "content": None, "tool_calls": [call.model_dump() for call in calls]}]
        messages += [{"role": "tool", "tool_call_id": call.id, "content": '{"status":"ok"}'} for call in calls]
        ending = complete(client, messages, tools=tools)
        assert (ending.content, ending.tool_calls) == ("", None)
    return [(call.function.name, json.loads(call.function.arguments)) for call in calls]


def test_a_reschedule_is_answered_about_the_day_that_was_named(client: openai.OpenAI) -> None:
    calls = spoken(client, customer("Oi, quero remarcar minha consulta de quinta"))
    assert [name for name, _ in calls] == ["send_message"]
    assert "consulta de quinta" in text_of(calls)
    jsonschema.validate(calls[-1][1], SPEAK)


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("Vocês abrem no domingo?", "Aos domingos não abrimos."),
        ("quanto custa a limpeza?", "A limpeza custa R$ 180,00."),
        ("How much is the clareamento?", "O clareamento custa R$ 900,00."),
    ],
)
def test_a_question_of_fact_is_searched_first_and_answered_with_what_was_found(
    client: openai.OpenAI, question: str, fact: str
) -> None:
    calls = spoken(client, customer(question))
    assert [name for name, _ in calls] == ["search_knowledge", "send_message"]
    assert fact in text_of(calls)


def test_what_was_not_found_is_not_made_up(client: openai.OpenAI) -> None:
    assert "pessoa" in text_of(spoken(client, customer("vocês aceitam cartão?")))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Oi", ("Oi!", "Olá!")),
        ("Hi", ("Hi!", "Hello!")),
        ("Hola, quiero cambiar mi cita del jueves", ("su cita del jueves",)),
        ("obrigada!", ("Por nada", "Eu que agradeço")),
        ("Thank you!", ("welcome", "pleasure")),
    ],
)
def test_the_customer_is_answered_in_their_language(
    client: openai.OpenAI, words: str, expected: tuple[str, ...]
) -> None:
    text = text_of(spoken(client, customer(words)))
    assert any(part in text for part in expected), text


def test_a_burst_is_one_answer_to_each_thing_asked(client: openai.OpenAI) -> None:
    calls = spoken(client, customer("Oi", "quero remarcar minha consulta", "e quanto custa a limpeza?"))
    assert len([name for name, _ in calls if name == "send_message"]) == 1
    assert "consulta" in text_of(calls)
    assert "R$ 180,00" in text_of(calls)


def test_people_and_cases_are_asked_for_where_the_words_call_for_them(client: openai.OpenAI) -> None:
    human = spoken(client, customer("quero falar com uma pessoa"))[-1][1]
    complaint = spoken(client, customer("meu pedido veio errado, que absurdo"))[-1][1]
    plain = spoken(client, customer("oi #person"))[-1][1]
    assert (human["needs_person"], human["needs_case"]) == (True, False)
    assert (complaint["needs_person"], complaint["needs_case"]) == (False, True)
    assert plain["needs_person"]


@pytest.mark.parametrize("words", ["SAIR", "não quero mais receber mensagens", "STOP", "oi #silent"])
def test_some_customers_get_no_message(client: openai.OpenAI, words: str) -> None:
    assert spoken(client, customer(words)) == []


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("ofereça sexta às 15h", "sexta às 15h"),
        ("diga que o estacionamento é gratuito", "O estacionamento é gratuito."),
        ('mencione "traga seus exames"', "Traga seus exames."),
    ],
)
def test_the_redraft_follows_a_persons_instruction(client: openai.OpenAI, instruction: str, expected: str) -> None:
    words = customer("Oi, quero remarcar minha consulta de quinta")
    first = text_of(spoken(client, words))
    again = [
        *words,
        {"role": "assistant", "content": first},
        {"role": "user", "content": f"[instruction] {instruction}"},
    ]
    redraft = text_of(spoken(client, again))
    assert expected in redraft
    assert expected not in first


def test_an_instruction_can_shorten_a_draft(client: openai.OpenAI) -> None:
    words = customer("Oi, quero remarcar minha consulta de quinta")
    shorter = text_of(spoken(client, [*words, {"role": "system", "content": "[instruction] mais curto"}]))
    assert len(shorter) < len(text_of(spoken(client, words)))


@pytest.mark.parametrize(("marker", "machinery"), [("#leak", "search_knowledge"), ("#promise", "95%")])
def test_a_refused_draft_is_rewritten_clean(client: openai.OpenAI, marker: str, machinery: str) -> None:
    calls = spoken(client, customer(f"quero remarcar minha consulta {marker}"), REFUSED)
    drafts = [arguments["text"] for _, arguments in calls]
    assert [machinery in draft for draft in drafts] == [True, False]


def test_a_plain_refused_draft_is_said_another_way_without_the_refused_phrase(client: openai.OpenAI) -> None:
    words = customer("quero remarcar minha consulta de quinta")
    first = text_of(spoken(client, words))
    refused = {"status": "refused", "problems": [{"phrase": first.split(".")[0]}], "instruction": "Vary it."}
    rewritten = text_of(spoken(client, words, refused))
    assert rewritten != first
    assert first.split(".")[0] not in rewritten


def test_a_leak_that_never_ends_can_be_shown(client: openai.OpenAI) -> None:
    calls = spoken(client, customer("oi #leak-always"), REFUSED, REFUSED)
    assert [("lead_id" in arguments["text"]) for _, arguments in calls] == [True, True, True]


@pytest.mark.parametrize("marker", ["#leak-name", "#leak-description", "#leak-data"])
def test_a_door_that_the_request_does_not_open_leaks_nothing(client: openai.OpenAI, marker: str) -> None:
    plainly = spoken(client, customer("Oi"))
    assert [name for name, _ in spoken(client, customer(f"Oi {marker}"))] == [name for name, _ in plainly]
    assert "_" not in text_of(spoken(client, customer(f"Oi {marker}")))


def test_the_raw_state_is_heard_as_the_conversation_in_it(client: openai.OpenAI) -> None:
    lines = [{"by": "customer", "text": "Oi, quero remarcar minha consulta de quinta", "at": "2026-09-21T12:00:00Z"}]
    state = json.dumps({"lead": {"stage": "new"}, "lines": lines})
    assert "consulta de quinta" in text_of(spoken(client, customer(state)))


def test_the_same_request_gets_the_same_answer(client: openai.OpenAI) -> None:
    words = customer("Oi, quanto custa a limpeza?")
    assert spoken(client, words) == spoken(client, words)


def test_the_closing_declares_what_the_customer_wants_in_their_words(client: openai.OpenAI) -> None:
    words = "Oi, quero remarcar minha consulta de quinta"
    declaration = declared(client, customer(words), "Qual dia fica melhor?")
    assert declaration["intents"] == [{"what": "quer remarcar", "evidence": words}]
    assert not declaration["nothing_to_declare"]


@pytest.mark.parametrize("words", ["Oi, bom dia!", "obrigada!", "Thanks"])
def test_courtesy_is_nothing_to_declare(client: openai.OpenAI, words: str) -> None:
    declaration = declared(client, customer(words), "Como posso ajudar?")
    assert declaration == {"intents": [], "promises": [], "nothing_to_declare": True}


def test_a_promise_is_read_from_the_reply_with_its_date_where_today_is_known(client: openai.OpenAI) -> None:
    prompt = [
        {"role": "system", "content": "Hoje é 24/09/2026."},
        {"role": "user", "content": "e aí, alguma novidade?"},
    ]
    promises = declared(client, prompt, "Ainda não. Retornamos amanhã com a resposta.")["promises"]
    assert promises == [{"what": "Retornamos amanhã com a resposta.", "due": "2026-09-25T18:00:00-03:00"}]


def test_a_broken_closing_is_right_after_its_correction(client: openai.OpenAI) -> None:
    words = customer("quero remarcar #broken-closing")
    broken = closed(client, words, "Qual dia?")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(broken), CHECKPOINT)
    asked = {"type": "json_schema", "json_schema": {"name": "checkpoint", "schema": CHECKPOINT}}
    correction: list[Message] = [
        {"role": "assistant", "content": "Qual dia?"},
        {"role": "user", "content": "Feche o turno."},
        {"role": "assistant", "content": broken},
        {"role": "user", "content": "$: unknown field `intencoes`; use `declaration.intents`."},
    ]
    corrected = json.loads(complete(client, [*words, *correction], response_format=asked).content)
    jsonschema.validate(corrected, CHECKPOINT)
    assert corrected["declaration"]["intents"]


def test_a_closing_can_stay_broken(client: openai.OpenAI) -> None:
    with pytest.raises(jsonschema.ValidationError):
        declared(client, customer("oi #no-closing"), "Oi!")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("quero remarcar minha consulta de quinta", ["create_task", "add_tag"]),
        ("meu pedido veio errado, que absurdo", ["open_case", "add_tag"]),
        ("quanto custa a limpeza?", ["move_stage", "add_tag"]),
        ("meu convênio é Vida+", ["record_fact"]),
        ("I want to reschedule my appointment", ["create_task", "add_tag"]),
        ("vocês abrem no domingo?", []),
        ("quero remarcar #promise-owner", []),
    ],
)
def test_operations_fit_what_was_declared(client: openai.OpenAI, words: str, names: list[str]) -> None:
    calls = operated(client, words)
    assert [name for name, _ in calls] == names
    assert all(set(arguments) == set(OPERATIONS[name]) for name, arguments in calls)
    assert all(arguments.get("lead_id", "lead-7") == "lead-7" for _, arguments in calls)


def test_a_stated_fact_is_recorded_with_its_name_and_value(client: openai.OpenAI) -> None:
    [(_, arguments)] = operated(client, "meu convênio é Vida+")
    assert (arguments["name"], arguments["value"]) == ("convênio", "Vida+")


def test_a_promise_gets_a_task(client: openai.OpenAI) -> None:
    [(name, arguments)] = operated(client, promises=("Retornamos amanhã",))
    assert (name, arguments["title"]) == ("create_task", "Retornamos amanhã")


def test_another_structured_question_is_answered_by_the_customers_words(client: openai.OpenAI) -> None:
    schema = {
        "type": "object",
        "properties": {"intent": {"enum": ["agendar visita", "segunda via do boleto"]}},
        "required": ["intent"],
    }
    asked = {"type": "json_schema", "json_schema": {"name": "router", "schema": schema}}
    chosen = complete(client, customer("preciso da segunda via"), response_format=asked).content
    assert json.loads(chosen) == {"intent": "segunda via do boleto"}


def test_errors_have_the_shape_that_the_client_knows(client: openai.OpenAI, address: str) -> None:
    tools = [tool("send_message", SPEAK)]
    with pytest.raises(openai.InternalServerError):
        complete(client, customer("oi #error"), tools=tools)
    with pytest.raises(openai.BadRequestError):
        complete(client, [])
    status, body = ask(f"{address}/v1/chat/completions", "{not json")
    assert (status, body["error"]["type"]) == (400, "invalid_request_error")


def test_a_slow_answer_meets_the_clients_timeout(client: openai.OpenAI) -> None:
    with pytest.raises(openai.APITimeoutError):
        complete(client, customer("oi #slow 60"), tools=[tool("send_message", SPEAK)], timeout=0.3)


def test_models_are_listed_and_usage_is_counted(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list().data] == ["chancela-local"]
    usage = cast("Any", client.chat.completions.create)(model="x", messages=customer("oi")).usage
    assert usage.prompt_tokens > 0
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
