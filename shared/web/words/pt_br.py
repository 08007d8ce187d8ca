"""Português do Brasil."""

# ruff: noqa: E501 - a sentence a line

from typing import Final

WORDS: Final[dict[str, str]] = {
    "product": "Chancela",
    "sign_in.title": "Entrar",
    "sign_in.local": "Só nesta máquina",
    "sign_in.why": "Entrada local, sem senha: escolha quem você é. Fora desta máquina as pessoas entram pelo provedor de identidade.",
    "sign_in.as": "Entrar como {name}",
    "sign_in.nobody": "O arquivo de pessoas está vazio: acrescente alguém e reinicie.",
    "sign_in.elsewhere": "A entrada local está desligada neste perfil. Entre pelo provedor de identidade da sua organização.",
    "sign_in.provider": "Entrar pelo provedor de identidade",
    "sign_in.provider.why": "Sua organização confirma quem você é; aqui não há senha.",
    "why.provider_down": "O provedor de identidade não responde. Ninguém entrou; tente de novo em instantes ou avise quem administra.",
    "why.busy": "Há tentativas demais ao mesmo tempo. Espere um minuto e tente de novo.",
    "why.declined": "O provedor de identidade não confirmou a entrada. Tente de novo, ou peça acesso a quem administra.",
    "why.not_verified": "A resposta do provedor de identidade não confere. Ninguém entrou; tente de novo e, se repetir, avise quem administra.",
    "why.too_late": "Esta entrada já não vale: passou do prazo, foi começada em outra janela ou já foi usada. Comece de novo.",
    "why.not_fresh": "O provedor de identidade não pediu que você se identificasse de novo. Saia dele, entre outra vez e repita.",
    "why.no_email": "O provedor de identidade não disse o seu endereço de e-mail. Peça a quem administra que o inclua.",
    "why.unverified_email": "O seu endereço de e-mail ainda não foi confirmado no provedor de identidade. Confirme-o e entre de novo.",
    "why.no_tenant": "A sua conta não pertence a nenhuma organização daqui. Peça acesso a quem administra.",
    "why.several_tenants": "A sua conta pertence a mais de uma organização daqui. Peça a quem administra que deixe só uma.",
    "why.no_role": "A sua conta não tem nenhum papel aqui. Peça acesso a quem administra.",
    "why.another_account": "Este endereço de e-mail já é de outra conta. Avise quem administra.",
    "why.inactive": "O seu acesso foi desativado. Fale com quem administra.",
    "why.unknown": "Essa pessoa não está no arquivo de pessoas, ou foi desativada. Escolha outra.",
    "sign_out": "Sair",
    "role.approver": "aprova",
    "role.viewer": "só lê",
    "role.auditor": "audita",
    "role.administrator": "administra",
}
