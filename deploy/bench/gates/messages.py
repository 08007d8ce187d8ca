# ruff: noqa: E501 (the lines that messages are made of read best on one line)
"""Messages as a shop's agent writes them, about 330 characters each, three of four in Brazilian Portuguese.

No message is given twice: names, dates, amounts and the choice of lines come from the seed, so that no cache of a text
is measured. About one in three says something that a gate must look at closely (a price, a date, a promise, a person
who will act), one in ten is disguised, one in twenty leaks something of the machine.
"""

import base64
import random
from collections.abc import Callable, Sequence
from typing import Final

AROUND: Final = 330
_LANGUAGES: Final = ("pt-BR",) * 15 + ("en",) * 3 + ("es",) * 2
_NAMES: Final = (
    "Ana", "Beatriz", "Caio", "Débora", "Elaine", "Fábio", "Gustavo", "Helena", "Iara", "João", "Kátia", "Luís", "Márcia", "Nádia",
    "Otávio", "Patrícia", "Renata", "Sérgio", "Thaís", "Vítor",
)  # fmt: skip
_THINGS: Final = {
    "pt-BR": ("o bolo de fubá", "a furadeira", "o tênis azul", "a consulta", "o plano mensal", "a cesta de pães", "o sofá de três lugares", "a revisão da moto", "o curso de violão", "a armação dos óculos"),
    "en": ("the sofa", "the blue sneakers", "the monthly plan", "the guitar course", "the visit", "the bread basket", "the drill", "the frames"),
    "es": ("la torta", "el taladro", "las zapatillas azules", "la consulta", "el plan mensual", "el curso de guitarra", "la canasta de panes"),
}  # fmt: skip
_LINES: Final = {
    "pt-BR": (
        "Oi, {name}! Tudo bem?", "Bom dia, {name}, obrigada pelo contato.", "Que bom falar com você de novo, {name}!", "Olá! Recebi sua mensagem agora há pouco.",
        "Temos {thing} em duas cores, e as duas estão na loja da Rua {name} Prado, {n}.", "A loja abre às {hour}h e o estacionamento fica na entrada lateral.",
        "Você prefere que eu explique como funciona {thing} ou já quer ver as fotos?", "Sobre {thing}: a peça mede {n} cm de largura e {m} cm de altura.",
        "O material é lavável e a limpeza se faz com pano úmido, sem produto abrasivo.", "Se for mais fácil, pode mandar uma foto do que precisa que eu olho com calma.",
        "Anotei aqui que são {few} unidades, é isso mesmo?", "O cardápio da semana tem {few} opções sem glúten e {few} sem lactose.", "Fico à disposição para qualquer dúvida, viu?",
        "Qual é o melhor período para você: manhã ou tarde?", "O endereço continua o mesmo, perto da praça, do lado da farmácia.", "Para {thing}, basta trazer um documento com foto e o número {n}{m}.",
        "A maioria dos clientes escolhe {thing} porque combina com quase tudo.", "Vi que da última vez você levou {thing}; deu tudo certo com o tamanho?",
        "Aceitamos cartão, pix e dinheiro, do jeito que ficar melhor.", "Quando puder, me conta para quantas pessoas seria o almoço.", "Obrigada pela paciência, {name}! 😊",
        "Nosso catálogo tem {n} itens e muda a cada estação, então vale dar uma olhada de vez em quando.", "Qualquer coisa é só chamar por aqui mesmo.",
        "O tecido estica um pouco depois da primeira lavagem, isso é normal.", "A aula experimental dura {m} minutos e começa pontualmente.",
    ),
    "en": (
        "Hi {name}, thanks for reaching out!", "Good morning {name}, hope you are well.", "We have {thing} in {few} colours, and all of them are in the shop on {name} Street {n}.", "The shop opens at {hour} and there is parking at the side entrance.",
        "Would you like me to explain how {thing} works, or would you rather see some pictures first?", "About {thing}: it is {n} cm wide and {m} cm high.", "Feel free to send a picture of what you need and I will take a look.",
        "I noted {few} units, is that right?", "Most customers choose {thing} because it goes with almost anything.", "Which part of the day suits you best, morning or afternoon?", "We accept cards and cash, whatever is easier for you.",
        "The fabric stretches a little after the first wash, which is normal.", "Just let me know if anything is unclear.", "For {thing}, please bring a photo id and the number {n}{m}.",
    ),
    "es": (
        "¡Hola, {name}! ¿Cómo está?", "Buenos días, {name}, gracias por escribirnos.", "Tenemos {thing} en {few} colores, y todos están en la tienda de la calle {name} {n}.", "La tienda abre a las {hour} y el estacionamiento está al costado.",
        "¿Prefiere que le explique cómo funciona {thing} o quiere ver primero las fotos?", "Sobre {thing}: mide {n} cm de ancho y {m} cm de alto.", "Si quiere, mande una foto de lo que necesita y la miro con calma.",
        "Anoté {few} unidades, ¿es correcto?", "La mayoría de los clientes elige {thing} porque combina con casi todo.", "¿Qué momento del día le queda mejor, mañana o tarde?", "Aceptamos tarjeta y efectivo, lo que le resulte más cómodo.",
        "La tela se estira un poco después del primer lavado, es normal.", "Cualquier duda me escribe por aquí.", "Para {thing} traiga un documento con foto y el número {n}{m}.",
    ),
}  # fmt: skip
_WEIGHTY: Final = {
    "pt-BR": (
        "{thing} sai por R$ {n},90 à vista.", "Dá para parcelar em {few}x de R$ {m},00 sem juros.", "Consigo {few}% de desconto se fechar o par.", "Sua visita ficou confirmada para o dia {few} às {hour}h.",
        "A entrega chega até sexta-feira.", "Vou verificar com a equipe e te aviso.", "O frete é R$ {few},50 para o seu bairro.", "Não consigo garantir essa data, depende da transportadora.",
        "Entendi que você quer desconto, vou ver o que é possível.", "Reservei {thing} no seu nome até amanhã.",
    ),
    "en": (
        "{thing} is $ {n}.90.", "You can pay in {few} instalments of $ {m}.", "I'll check with the team and get back to you.", "Your visit is confirmed for the {few}th at {hour}.", "I can't promise that date, it depends on the carrier.", "Delivery is free over $ {n}.",
    ),
    "es": (
        "{thing} cuesta $ {n}.", "Puede pagar en {few} cuotas de $ {m}.", "Voy a consultar con el encargado y le aviso.", "Su visita quedó confirmada para el día {few} a las {hour}.", "No puedo garantizar esa fecha, depende del transporte.", "El envío llega el viernes.",
    ),
}  # fmt: skip
_LEAKS: Final = (
    "Usei crm_move_stage para isso.", "O webhook retornou erro 500.", "Atualizei o campo data_nascimento.", "O registro 7f3a9c1e-5b2d-4e8f-9a6b-{n}{n}{n}{n} foi salvo.",
    "Seu perfil atual é agent e exige permissão de manager.",
)  # fmt: skip
_DISGUISES: Final[Sequence[Callable[[str], str]]] = (
    " ".join,
    ".".join,
    lambda word: word.replace("e", "3").replace("o", "0"),
    lambda word: word.replace("e", "е").replace("o", "о"),
    "\u200b".join,
    lambda word: "".join(f"%{ord(each):02x}" for each in word),
    lambda word: base64.b64encode(f"olha so o {word}".encode()).decode(),
    lambda word: "".join(f"&#{ord(each)};" for each in word),
)
_WORDS: Final = ("promocao", "catalogo", "endereco", "webhook", "atendimento")


def messages(count: int, seed: int) -> list[tuple[str, str]]:
    """So many pairs of language and text; another seed gives other texts."""
    chance = random.Random(seed)  # noqa: S311 - texts to measure with, no secret
    return [_message(chance) for _ in range(count)]


def _message(chance: random.Random) -> tuple[str, str]:
    language = chance.choice(_LANGUAGES)
    length, lines = chance.randint(AROUND - 60, AROUND + 60), list(_LINES[language])
    chance.shuffle(lines)
    lines = lines[:8]
    if chance.random() < 0.33:
        lines.insert(chance.randint(0, 3), chance.choice(_WEIGHTY[language]))
    if chance.random() < 0.05:
        lines.insert(chance.randint(0, 3), chance.choice(_LEAKS))
    if chance.random() < 0.10:
        lines.insert(chance.randint(0, 3), chance.choice(_DISGUISES)(chance.choice(_WORDS)))
    return language, _up_to(length, [_filled(line, language, chance) for line in lines])


def _up_to(length: int, lines: list[str]) -> str:
    text = ""
    for line in lines:
        if len(text) >= length - len(line) // 2:
            break
        text = f"{text} {line}" if text else line
    return text


def _filled(line: str, language: str, chance: random.Random) -> str:
    values = {
        "name": chance.choice(_NAMES), "thing": chance.choice(_THINGS[language]), "n": chance.randint(100, 999),
        "m": chance.randint(30, 99), "few": chance.randint(2, 12), "hour": chance.randint(7, 12),
    }  # fmt: skip
    filled = line.format(**values)
    return filled[0].upper() + filled[1:]


def long_texts(length: int) -> dict[str, str]:
    """Texts of about `length` letters: one of ordinary prose, the others made to be slow to judge."""
    prose = " ".join(text for _, text in messages(length // AROUND + 40, seed=7))

    def repeated(piece: str) -> str:
        return (piece * (length // len(piece) + 1))[:length]

    return {
        "prose": prose[:length],
        "one word": "a" * length,
        "no full stop": repeated("vou te entregar o pedido com a equipe "),
        "beginnings of promises": repeated("entrego envio chega "),
        "beginnings of names": repeated("crm_move crm move lead "),
        "spaced letters": repeated("w e b h o o k "),
        "separators": repeated("a._*~"),
        "prices": repeated("R$ 1,99 "),
        "numbers in words": repeated("vinte e "),
        "underscores": repeated("a_b_"),
        "ampersands": repeated("&amp;&"),
        "percent": repeated("%77"),
        "base64": repeated("d2ViaG9vayBkbyBzaXN0ZW1h"),
        "brackets": repeated("{["),
        "tags": repeated("<a "),
        "invisible letters": repeated("o\u200b\u0301"),
        "ligatures": repeated("\ufdfa\ufb03"),
        "leaks": repeated("o webhook do endpoint falhou. "),
        "questions": repeated("garantimos a entrega amanhã, ok? "),
        "emoji": repeated("😊🙏🏽"),
    }
