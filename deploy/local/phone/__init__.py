"""A WhatsApp phone on this machine: WAHA's REST and webhook formats (NOWEB flavour), and a page to chat from.

- REST with `X-Api-Key`, as a sender calls it: `rest.py`; the shapes on the wire: `waha.py`
- webhooks signed with HMAC-SHA512 over the raw bytes, retried as WAHA does: `courier.py`
- `/_control/…` for tests and demonstrations, loopback only: `control.py`
- the customers' phone at `/`, live by server-sent events: `page.py`, `page/`

What was said is kept in one SQLite file (`store.py`); webhooks not yet delivered live in memory and are lost with a
restart, as WAHA's are.
"""
