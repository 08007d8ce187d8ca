-- ingest: channels, contacts, conversations and what was heard. Ids are random; no id can be guessed back to a phone.

-- A number of ours. Its webhook key is never in the database.
create table channel (
  channel_id uuid        primary key,
  tenant     uuid        not null,
  slug       text        not null unique,
  kind       text        not null check (kind in ('waha')),
  session    text        not null,
  name       text        not null default '',
  status     text        not null default '',
  is_ready   boolean     not null default false,
  status_at  timestamptz
);

create table contact (
  contact_id  uuid        primary key,
  tenant      uuid        not null,
  name        text        not null default '',
  consent     text        check (consent in ('opted_out', 'opted_in', 'paused', 'erasure_requested')),
  -- who this turned out to be: two contacts that were one person; conversations and lanes stay where they are
  merged_into uuid        references contact check (merged_into <> contact_id),
  created_at  timestamptz not null default clock_timestamp()
);

-- A form under which a contact is known; the 8- and 9-digit forms of a Brazilian mobile are two rows of one contact.
create table alias (
  tenant     uuid not null,
  form       text not null check (form in ('lid', 'phone')),
  value      text not null,
  contact_id uuid not null references contact,
  primary key (tenant, form, value)
);
create index alias_by_contact on alias (contact_id);

create table conversation (
  conversation_id  uuid        primary key,
  tenant           uuid        not null,
  channel_id       uuid        not null references channel,
  contact_id       uuid        not null references contact,
  -- +1 for each inbound message, edit, revocation and phone-side reply; written under this row's lock, by nobody else
  context_revision bigint      not null default 0 check (context_revision >= 0),
  language         text        not null,
  last_outbound    text,
  created_at       timestamptz not null default clock_timestamp()
);
create index conversation_by_contact on conversation (contact_id, channel_id);

-- Every chat id that led here: a contact may write under a hidden id and under a phone number.
create table chat (
  tenant          uuid not null,
  channel_id      uuid not null references channel,
  chat            text not null,
  conversation_id uuid not null references conversation,
  primary key (channel_id, chat)
);
create index chat_by_conversation on chat (conversation_id);

-- What makes a webhook a duplicate: one atomic insert, in the transaction that keeps the fact.
create table heard_fact (
  tenant     uuid        not null,
  channel_id uuid        not null references channel,
  session    text        not null,
  direction  text        not null check (direction in ('in', 'out', 'edit', 'revoke', 'reaction')),
  fact       text        not null,
  at         timestamptz not null default clock_timestamp(),
  primary key (channel_id, session, direction, fact)
);
create index heard_fact_by_age on heard_fact (at);

-- What edits, revocations and reactions can point at, theirs and ours. No text: that is in raw_event only.
create table message (
  message_id      uuid        primary key,
  tenant          uuid        not null,
  channel_id      uuid        not null references channel,
  conversation_id uuid        not null references conversation,
  stanza_id       text        not null,
  is_ours         boolean     not null,
  edited_at       timestamptz,
  revoked_at      timestamptz,
  at              timestamptz not null default clock_timestamp(),
  unique (channel_id, stanza_id, is_ours)
);
create index message_by_conversation on message (conversation_id);

-- Sends of ours whose echo may come: matched by stanza, else by chat and text.
create table own_send (
  decision_id     uuid        primary key,
  tenant          uuid        not null,
  channel_id      uuid        not null,
  conversation_id uuid        not null,
  chat            text,
  text_digest     text,
  stanza_id       text,
  begun_at        timestamptz not null,
  echoed_at       timestamptz
);
create index own_send_by_digest on own_send (channel_id, text_digest);
create index own_send_by_stanza on own_send (channel_id, stanza_id);

-- Sent from our account by nobody we know yet: our own echo, ahead of its send, or a person on the phone.
create table held_reply (
  held_id         uuid        primary key,
  tenant          uuid        not null,
  channel_id      uuid        not null,
  conversation_id uuid        not null references conversation,
  stanza_id       text        not null,
  chat            text        not null,
  digests         text[]      not null,
  text            text        not null,
  sent_at         timestamptz not null,
  held_at         timestamptz not null,
  unique (channel_id, stanza_id)
);
create index held_reply_by_digest on held_reply using gin (digests);

-- Authentic webhooks as they came. `body` is the one column that erasure and retention empty.
create table raw_event (
  raw_id            uuid        primary key,
  tenant            uuid        not null,
  channel_id        uuid        not null references channel,
  conversation_id   uuid        references conversation,
  action            text        not null,
  quarantine_reason text,
  -- what an edit or a revocation in quarantine waits for
  awaits_stanza_id  text,
  received_at       timestamptz not null,
  body              bytea,
  check ((action = 'quarantine') = (quarantine_reason is not null))
);
create index raw_event_by_age on raw_event (received_at);
create index raw_event_by_conversation on raw_event (conversation_id);
create index raw_event_in_quarantine on raw_event (channel_id, received_at) where action = 'quarantine';
create index raw_event_awaiting on raw_event (channel_id, awaits_stanza_id) where action = 'quarantine';
