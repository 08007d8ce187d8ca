"""What people write stays in the rows that hold it: no log, no metric and no header of the bus repeats it."""

from contracts.topology import SERVICES
from deploy.demo.outside import customer_message, envelope
from tests.journeys.world import DISCLOSURE, Chat

CUSTOMERS, OURS, REFUSED = "Ipecacuanha", "Xiloteca", "Zumbaia"


async def test_no_log_and_no_metric_holds_a_word_of_a_conversation(chat: Chat) -> None:
    await chat.writes(f"Oi! Meu plano é {CUSTOMERS} {chat.words}")
    item = await chat.filed()
    await chat.world.outside.phone("fail_next", mode="500", sent=False)  # its answer repeats the whole request
    await chat.approves(item, edited_text=f"{DISCLOSURE} Sobre o plano {chat.words}: {OURS}.")
    await chat.becomes(item["id"], "uncertain")
    await chat.decide(item, "approve", edited_text=f"{REFUSED} " * 2_000)
    await chat.world.outside.webhook(envelope("message.any", customer_message(chat.id, REFUSED, id=7)))
    await chat.world.outside.webhook(b'{"broken": "' + REFUSED.encode())
    await chat.settles()
    told = await everything_told(chat)
    assert len(told) == 2 * len(SERVICES)
    number = chat.id.removesuffix("@c.us")
    for where, text in told.items():
        for word in (CUSTOMERS, OURS, REFUSED, chat.words.split()[0], number):
            assert word not in text, f"{where} repeats {word}"


async def everything_told(chat: Chat) -> dict[str, str]:
    """Each service's log and its metrics."""
    stack, client = chat.world.stack, chat.world.outside.client
    told = {f"log of {name}": (stack.logs / f"{name}.log").read_text(encoding="utf-8") for name in SERVICES}
    for name in SERVICES:
        answer = await client.get(f"http://127.0.0.1:{stack.layout.ports.health[name]}/metrics")
        told[f"metrics of {name}"] = answer.text
        assert "chancela_" in answer.text
    return told
