-- guardrails: who may be written to, what the gates saw, and what was let go.

-- A sending number or mailbox with the rules of its kind.
create table channel (
  channel_id   uuid        primary key,
  tenant       uuid        not null,
  kind         text        not null,
  activated_at timestamptz not null,
  daily_cap    integer     not null default 300 check (daily_cap > 0),
  time_zone    text        not null default 'America/Sao_Paulo',
  is_ready     boolean     not null default true,
  hours        jsonb       not null default '{}'
);

-- The tenant's rules, by version; the newest is in force. Promise table, disclosure texts, allow-list, people, hours.
create table rules (
  tenant     uuid        not null,
  version    integer     not null,
  rules      jsonb       not null,
  created_at timestamptz not null default now(),
  primary key (tenant, version)
);

create table contact (
  contact_id      uuid        primary key,
  tenant          uuid        not null,
  consent         text        not null default 'none',
  opted_out_at    timestamptz,
  paused_at       timestamptz,
  is_blocked      boolean     not null default false,
  is_anonymised   boolean     not null default false,
  erasure_asked_at timestamptz,
  first_sent_at   timestamptz,
  -- the same person under another id: the row that counts
  merged_into     uuid
);
create index contact_merged on contact (merged_into) where merged_into is not null;

-- The id whose row counts for a contact, which may not be heard of yet.
create function survivor(id uuid) returns uuid language sql stable as $$
  select coalesce((select merged_into from contact where contact_id = id), id)
$$;

-- Made by whatever is heard first: a message, a take-over (which names no contact), a case.
create table conversation (
  conversation_id     uuid        primary key,
  tenant              uuid        not null,
  contact_id          uuid,
  channel_id          uuid,
  context_revision    bigint      not null default 0,
  last_inbound_at     timestamptz,
  owner               text        not null default 'agent' check (owner in ('agent', 'person')),
  ownership_version   bigint      not null default 0,
  taken_over_revision bigint,
  open_case           uuid
);
create index conversation_by_contact on conversation (contact_id);

-- What leaves a number, from its clearance on, for the spinning gate (what did not leave after all has its quota
-- released): recent texts only, pruned with the retention of message texts.
create table sent_text (
  decision_id uuid        primary key,
  tenant      uuid        not null,
  channel_id  uuid        not null,
  contact_id  uuid,
  body        text        not null,
  at          timestamptz not null
);
create index sent_text_recent on sent_text (channel_id, at desc);

-- What the classifier read in a text: one reading for a tenant's text, its evidence and a classifier.
create table review (
  key        bytea       primary key,
  tenant     uuid        not null,
  classifier text        not null,
  review     jsonb       not null,
  at         timestamptz not null default now()
);

-- One row a run of the chain, with the facts that it saw: enough to run it again on another chain.
create table run (
  run_id       uuid        primary key,
  tenant       uuid        not null,
  draft_id     uuid        not null,
  conversation_id uuid     not null,
  phase        text        not null check (phase in ('filing', 'dispatch')),
  outcome      text        not null check (outcome in ('cleared', 'vetoed', 'deferred')),
  gate         text        not null default '',
  code         text        not null default '',
  verdicts     jsonb       not null,
  draft        jsonb,
  facts        jsonb,
  facts_digest text        not null,
  chain_version integer    not null,
  chain_hash   text        not null,
  at           timestamptz not null
);
create index run_by_draft on run (draft_id, at);
create index run_recent on run (tenant, at desc);
create index run_by_age on run using brin (at);

-- An approved text on its way out: one row a decision, burnt once it is cleared, refused or revoked.
create table dispatch (
  decision_id   uuid        primary key,
  tenant        uuid        not null,
  obligation_id uuid        not null,
  conversation_id uuid      not null,
  channel_id    uuid        not null,
  approval      jsonb       not null,
  state         text        not null default 'waiting' check (state in ('waiting', 'cleared', 'refused', 'revoked')),
  cleared_at    timestamptz,
  updated_at    timestamptz not null default now()
);
create index dispatch_open on dispatch (conversation_id) where state = 'waiting';

-- Two phases: reserved at clearance, confirmed when accepted or uncertain, else released.
create table quota (
  decision_id uuid    primary key,
  tenant      uuid    not null,
  channel_id  uuid    not null,
  day         date    not null,
  state       text    not null check (state in ('reserved', 'confirmed', 'released'))
);
create index quota_of_day on quota (channel_id, day) where state <> 'released';
