"""Español."""

# ruff: noqa: E501 - a sentence a line

from typing import Final

WORDS: Final[dict[str, str]] = {
    "product": "Chancela",
    "sign_in.title": "Entrar",
    "sign_in.local": "Solo en esta máquina",
    "sign_in.why": "Entrada local, sin contraseña: elija quién es. Fuera de esta máquina las personas entran por el proveedor de identidad.",
    "sign_in.as": "Entrar como {name}",
    "sign_in.nobody": "El archivo de personas está vacío: agregue a alguien y reinicie.",
    "sign_in.elsewhere": "La entrada local está apagada en este perfil. Entre por el proveedor de identidad de su organización.",
    "sign_in.provider": "Entrar por el proveedor de identidad",
    "sign_in.provider.why": "Su organización confirma quién es usted; aquí no hay contraseña.",
    "why.provider_down": "El proveedor de identidad no responde. Nadie entró; inténtelo en un momento o avise a quien administra.",
    "why.busy": "Hay demasiados intentos a la vez. Espere un minuto e inténtelo de nuevo.",
    "why.declined": "El proveedor de identidad no confirmó la entrada. Inténtelo de nuevo o pida acceso a quien administra.",
    "why.not_verified": "La respuesta del proveedor de identidad no concuerda. Nadie entró; inténtelo de nuevo y, si se repite, avise a quien administra.",
    "why.too_late": "Esta entrada ya no vale: tardó demasiado, se empezó en otra ventana o ya se usó. Empiece de nuevo.",
    "why.not_fresh": "El proveedor de identidad no le pidió identificarse de nuevo. Salga de él, entre otra vez y repita.",
    "why.no_email": "El proveedor de identidad no dijo su dirección de correo. Pida a quien administra que la incluya.",
    "why.unverified_email": "Su dirección de correo aún no está confirmada en el proveedor de identidad. Confírmela y entre de nuevo.",
    "why.no_tenant": "Su cuenta no pertenece a ninguna organización de aquí. Pida acceso a quien administra.",
    "why.several_tenants": "Su cuenta pertenece a más de una organización de aquí. Pida a quien administra que deje solo una.",
    "why.no_role": "Su cuenta no tiene ningún papel aquí. Pida acceso a quien administra.",
    "why.another_account": "Esta dirección de correo ya es de otra cuenta. Avise a quien administra.",
    "why.inactive": "Su acceso fue desactivado. Hable con quien administra.",
    "why.unknown": "Esa persona no está en el archivo de personas, o fue desactivada. Elija otra.",
    "sign_out": "Salir",
    "role.approver": "aprueba",
    "role.viewer": "solo lee",
    "role.auditor": "audita",
    "role.administrator": "administra",
}
