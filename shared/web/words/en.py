"""English."""

# ruff: noqa: E501 - a sentence a line

from typing import Final

WORDS: Final[dict[str, str]] = {
    "product": "Chancela",
    "sign_in.title": "Sign in",
    "sign_in.local": "This machine only",
    "sign_in.why": "Local sign-in, without a password: choose who you are. Elsewhere people sign in at the identity provider.",
    "sign_in.as": "Sign in as {name}",
    "sign_in.nobody": "The people file is empty: add somebody and start again.",
    "sign_in.elsewhere": "Local sign-in is off in this profile. Sign in at your organisation's identity provider.",
    "sign_in.provider": "Sign in at the identity provider",
    "sign_in.provider.why": "Your organisation confirms who you are; there is no password here.",
    "why.provider_down": "The identity provider does not answer. Nobody was signed in; try again in a moment, or tell an administrator.",
    "why.busy": "Too many attempts at the same time. Wait a minute and try again.",
    "why.declined": "The identity provider did not confirm the sign-in. Try again, or ask an administrator for access.",
    "why.not_verified": "The identity provider's answer does not verify. Nobody was signed in; try again, and tell an administrator if it repeats.",
    "why.too_late": "This sign-in no longer counts: it took too long, was begun in another window, or was used already. Begin again.",
    "why.not_fresh": "The identity provider did not ask you to prove who you are again. Sign out there, sign in, and repeat.",
    "why.no_email": "The identity provider did not tell your e-mail address. Ask an administrator to include it.",
    "why.unverified_email": "Your e-mail address is not confirmed at the identity provider yet. Confirm it and sign in again.",
    "why.no_tenant": "Your account belongs to no organisation here. Ask an administrator for access.",
    "why.several_tenants": "Your account belongs to more than one organisation here. Ask an administrator to leave only one.",
    "why.no_role": "Your account has no role here. Ask an administrator for access.",
    "why.another_account": "This e-mail address belongs to another account already. Tell an administrator.",
    "why.inactive": "Your access was switched off. Talk to an administrator.",
    "why.unknown": "That person is not in the people file, or no longer active. Choose another.",
    "sign_out": "Sign out",
    "role.approver": "approves",
    "role.viewer": "reads",
    "role.auditor": "audits",
    "role.administrator": "administers",
}
