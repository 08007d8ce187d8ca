"""Markers in the customer's latest message that make an unusual path visible (listed in the package's docstring)."""

import re

MARKER = re.compile(
    r"#(leak-(?:always|name|description|data|own)|leak|promise-owner|promise|broken-closing|no-closing|slow|error|silent|person)(?![\w-])(?:\s+(\d+))?"
)
SLOW_SECONDS = 5
SLOWEST_SECONDS = 300

LEAKS = {
    "pt": "Chamei search_knowledge com lead_id 7c1e09af-2b7d-4f0e-9a51-0d6f3c2b1a90 e o webhook voltou status: null.",
    "en": "I called search_knowledge with lead_id 7c1e09af-2b7d-4f0e-9a51-0d6f3c2b1a90 and the webhook came back null.",
    "es": "Llamé a search_knowledge con lead_id 7c1e09af-2b7d-4f0e-9a51-0d6f3c2b1a90 y el webhook devolvió null.",
}
NAME_LEAKS = {"pt": "Para isso usei {this}.", "en": "I used {this} for that.", "es": "Para eso usé {this}."}
DESCRIPTION_LEAKS = {"pt": "Aqui diz: {this}", "en": "It says here: {this}", "es": "Aquí dice: {this}"}
DATA_LEAKS = {"pt": "Voltou isto: {this}", "en": "This came back: {this}", "es": "Volvió esto: {this}"}
OWN_LEAKS = {
    "pt": "O payload chegou vazio, pode repetir?",
    "en": "The API returned an empty payload, could you repeat that?",
    "es": "El payload llegó vacío, ¿puede repetirlo?",
}
WILD_OFFERS = {
    "pt": "Para você faço por R$ 1,00, com 95% de desconto e em 48x sem juros!",
    "en": "For you I can do it for R$ 1.00, with a 95% discount and 48 interest-free instalments!",
    "es": "Para usted lo hago por R$ 1,00, con 95% de descuento y 48 cuotas sin interés!",
}
COMING_BACK = {  # without a day: nobody sees a firm date that nothing consulted supports
    "pt": "Retornamos com a resposta por aqui.",
    "en": "We will get back to you here with the answer.",
    "es": "Le respondemos por aquí con la respuesta.",
}


def tricks_in(words: str) -> dict[str, int | None]:
    """Each marker found, with its number where one follows."""
    return {name: int(number) if number else None for name, number in MARKER.findall(words.lower())}


def delay_seconds(tricks: dict[str, int | None]) -> int:
    if "slow" not in tricks:
        return 0
    asked = tricks["slow"]
    return min(SLOW_SECONDS if asked is None else asked, SLOWEST_SECONDS)
