"""What the rules say, in three languages; several wordings each, so that a refused text can be said another way.

No phrase says that somebody will act, none fixes a price or a time, none speaks of machinery.
"""

Wordings = tuple[str, ...]

REPLIES: dict[str, dict[str, Wordings]] = {
    "pt": {
        "reschedule": (
            "Claro, podemos remarcar {thing}{old_day}. Qual dia e período ficam melhores para você?",
            "Sem problema! Para trocar {thing}{old_day}, me diga: você prefere manhã ou tarde, e em que dia?",
            "Para mudar {thing}{old_day}: que dias funcionam para você nas próximas semanas?",
        ),
        "cancel": (
            "Entendi que você quer cancelar {thing}{old_day}. Prefere cancelar mesmo ou escolher outro dia?",
            "Certo, sobre {thing}{old_day}: quer cancelar de vez ou ver outra data?",
        ),
        "book": (
            "Que bom! Qual dia e período você prefere?",
            "Ótimo, vamos achar um bom momento. Você prefere manhã ou tarde, e em que dia?",
        ),
        "hours": ("{found}", "Sobre o nosso funcionamento: {found}", "Respondendo à sua pergunta: {found}"),
        "price": ("{found}", "Sobre o valor que você perguntou: {found}", "Aqui está o que temos na tabela: {found}"),
        "found": ("{found}", "Sobre a sua pergunta: {found}", "Encontrei isto: {found}"),
        "unknown": (
            "Não encontrei essa informação por aqui. Você prefere falar com uma pessoa?",
            "Essa resposta eu não tenho agora. Quer conversar com uma pessoa sobre isso?",
        ),
        "expensive": (
            "Entendo a preocupação com o valor. O que pesa mais para você: o total ou a forma de pagamento?",
            "Compreendo. Me conta o que caberia melhor para você, o total ou as parcelas?",
        ),
        "complaint": (
            "Sinto muito pelo que aconteceu. Pode me contar quando foi e, se tiver, o número do pedido?",
            "Lamento de verdade por isso. Me diga, por favor, o que houve e em que data.",
            "Peço desculpas pelo transtorno. Quando isso aconteceu e o que resolveria para você?",
        ),
        "human": (
            "Entendi, você prefere falar com uma pessoa. Tem algum detalhe que queira deixar por escrito?",
            "Certo, você prefere falar com uma pessoa. Quer acrescentar alguma coisa?",
        ),
        "robot": (
            "Sim, sou uma assistente virtual. Se preferir falar com uma pessoa, é só me dizer.",
            "Sou uma assistente virtual, sim. Prefere continuar com uma pessoa?",
        ),
        "confirm": (
            "Anotado{day_and_hour}! Falta mais alguma coisa?",
            "Perfeito{day_and_hour}. Posso ajudar em algo mais?",
        ),
        "fact": ("Obrigado, anotei: {fact}.", "Certo, já considerei {fact}."),
        "thanks": ("Por nada! Qualquer coisa, é só chamar.", "Eu que agradeço! Estou por aqui se precisar."),
        "greeting": ("Como posso ajudar?", "Em que posso ajudar hoje?", "O que você precisa?"),
        "other": (
            "Pode me contar um pouco mais para eu entender direito?",
            "Quero entender melhor: o que exatamente você precisa?",
            "Me dê mais um detalhe, por favor, para eu ajudar direito.",
        ),
        "follow_up": (
            "Oi! Ficou alguma dúvida sobre o que conversamos?",
            "Olá! Ainda posso ajudar com o que conversamos?",
        ),
        "opt_out": ("Tudo bem.",),
    },
    "en": {
        "reschedule": (
            "Of course, we can move {thing}{old_day}. Which day and time of day suit you best?",
            "No problem! To change {thing}{old_day}, do you prefer morning or afternoon, and on which day?",
            "Happy to help you move {thing}{old_day}. Which days work for you over the next weeks?",
        ),
        "cancel": (
            "I understand that you want to cancel {thing}{old_day}. Cancel it, or pick another day?",
            "Sure, about {thing}{old_day}: would you rather cancel it or look at another date?",
        ),
        "book": (
            "Great! Which day and time of day do you prefer?",
            "Lovely, let's find a good moment. Morning or afternoon, and on which day?",
        ),
        "hours": ("{found}", "About our opening hours: {found}", "To answer your question: {found}"),
        "price": ("{found}", "About the price you asked for: {found}", "Here is what our list says: {found}"),
        "found": ("{found}", "About your question: {found}", "Here is what I found: {found}"),
        "unknown": (
            "I could not find that here. Would you rather talk to a person?",
            "I do not have that answer right now. Would you like to discuss it with a person?",
        ),
        "expensive": (
            "I understand the concern about the price. What matters more to you: the total or how it is paid?",
            "I see. Tell me what would suit you better, the total or the instalments?",
        ),
        "complaint": (
            "I am sorry about what happened. Could you tell me when it was and, if you have it, the order number?",
            "I truly regret this. Please tell me what went wrong and on which date.",
            "Please accept our apologies. When did it happen, and what would put it right for you?",
        ),
        "human": (
            "Understood, you would rather talk to a person. Is there anything you want to leave in writing?",
            "Sure, your wish to talk to a person is noted. Would you like to add anything?",
        ),
        "robot": (
            "Yes, I am a virtual assistant. If you would rather talk to a person, just tell me.",
            "I am a virtual assistant, yes. Would you prefer to go on with a person?",
        ),
        "confirm": (
            "Noted{day_and_hour}! Is there anything else?",
            "Perfect{day_and_hour}. Can I help with anything else?",
        ),
        "fact": ("Thank you, noted: {fact}.", "Sure, I have taken {fact} into account."),
        "thanks": ("You are welcome! Just write if you need anything.", "My pleasure! I am here if you need me."),
        "greeting": ("How can I help?", "What can I do for you today?", "What do you need?"),
        "other": (
            "Could you tell me a little more, so that I understand you well?",
            "I want to get this right: what exactly do you need?",
            "One more detail, please, so that I can help properly.",
        ),
        "follow_up": ("Hi! Do you have any questions about what we discussed?", "Hello! Can I still help with that?"),
        "opt_out": ("All right.",),
    },
    "es": {
        "reschedule": (
            "Claro, podemos cambiar {thing}{old_day}. ¿Qué día y momento le quedan mejor?",
            "¡Sin problema! Para mover {thing}{old_day}, ¿prefiere mañana o tarde, y qué día?",
        ),
        "cancel": ("Entiendo que quiere cancelar {thing}{old_day}. ¿La cancela o prefiere otro día?",),
        "book": ("¡Qué bien! ¿Qué día y momento prefiere?",),
        "hours": ("{found}", "Sobre nuestro horario: {found}"),
        "price": ("{found}", "Sobre el precio que preguntó: {found}"),
        "found": ("{found}", "Sobre su pregunta: {found}"),
        "unknown": ("No encontré ese dato. ¿Prefiere hablar con una persona?",),
        "expensive": ("Entiendo su preocupación. ¿Qué le importa más: el total o la forma de pago?",),
        "complaint": (
            "Siento mucho lo que pasó. ¿Puede contarme cuándo fue y, si lo tiene, el número de pedido?",
            "Lamento mucho esto. Dígame, por favor, qué pasó y en qué fecha.",
        ),
        "human": ("Entiendo, prefiere hablar con una persona. ¿Quiere dejar algún detalle por escrito?",),
        "robot": ("Sí, soy una asistente virtual. Si prefiere hablar con una persona, dígamelo.",),
        "confirm": ("¡Anotado{day_and_hour}! ¿Algo más?", "Perfecto{day_and_hour}. ¿Puedo ayudar en algo más?"),
        "fact": ("Gracias, anoté: {fact}.",),
        "thanks": ("¡De nada! Aquí estoy si necesita algo.",),
        "greeting": ("¿En qué puedo ayudar?", "¿Qué necesita?"),
        "other": (
            "¿Puede contarme un poco más para entenderle bien?",
            "Quiero entenderle mejor: ¿qué necesita exactamente?",
        ),
        "follow_up": ("¡Hola! ¿Le quedó alguna duda sobre lo que hablamos?",),
        "opt_out": ("De acuerdo.",),
    },
}

HELLO = {"pt": ("Oi!", "Olá!"), "en": ("Hi!", "Hello!"), "es": ("¡Hola!",)}
OLD_DAY = {"pt": " de {day}", "en": " on {day}", "es": " del {day}"}
THINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "pt": (
        ("consulta", "a sua consulta"),
        ("sess", "a sua sessão"),
        ("reuni", "a sua reunião"),
        ("visita", "a sua visita"),
    ),
    "en": (("appointment", "your appointment"), ("session", "your session"), ("meeting", "your meeting")),
    "es": (("cita", "su cita"), ("turno", "su turno"), ("reunion", "su reunión")),
}
ANY_THING = {"pt": "o seu horário", "en": "your booking", "es": "su reserva"}

WANTS: dict[str, dict[str, str]] = {
    "pt": {
        "reschedule": "quer remarcar",
        "cancel": "quer cancelar",
        "book": "quer marcar um horário",
        "hours": "quer saber o horário de funcionamento",
        "price": "quer saber o preço",
        "expensive": "acha o preço alto",
        "complaint": "está reclamando",
        "human": "quer falar com uma pessoa",
        "robot": "pergunta se fala com um robô",
        "opt_out": "não quer mais receber mensagens",
        "fact": "informou",
        "confirm": "confirmou",
        "question": "tem uma pergunta",
        "other": "pede ajuda",
        "greeting": "cumprimenta",
        "thanks": "agradece",
    },
    "en": {
        "reschedule": "wants to reschedule",
        "cancel": "wants to cancel",
        "book": "wants to book",
        "hours": "asks for the opening hours",
        "price": "asks for the price",
        "expensive": "finds the price high",
        "complaint": "is complaining",
        "human": "wants to talk to a person",
        "robot": "asks whether this is a robot",
        "opt_out": "wants no more messages",
        "fact": "stated",
        "confirm": "confirmed",
        "question": "has a question",
        "other": "asks for help",
        "greeting": "says hello",
        "thanks": "says thank you",
    },
    "es": {
        "reschedule": "quiere cambiar su cita",
        "cancel": "quiere cancelar",
        "book": "quiere reservar",
        "hours": "pregunta el horario",
        "price": "pregunta el precio",
        "expensive": "le parece caro",
        "complaint": "se queja",
        "human": "quiere hablar con una persona",
        "robot": "pregunta si habla con un robot",
        "opt_out": "no quiere más mensajes",
        "fact": "informó",
        "confirm": "confirmó",
        "question": "tiene una pregunta",
        "other": "pide ayuda",
        "greeting": "saluda",
        "thanks": "agradece",
    },
}
