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
  version    integer     not null check (version > 0),
  rules      jsonb       not null,
  -- who saved it, and why; nobody: it came with the file of the first start
  author     text        not null default '',
  reason     text        not null default '' check (author = '' or reason <> ''),
  -- the earlier version whose content it repeats
  repeats    integer     check (repeats < version),
  created_at timestamptz not null default now(),
  primary key (tenant, version)
);

create table contact (
  contact_id      uuid        primary key,
  tenant          uuid        not null,
  name            text        not null default '',
  consent         text        not null default 'none',
  opted_out_at    timestamptz,
  paused_at       timestamptz,
  is_blocked      boolean     not null default false,
  is_anonymised   boolean     not null default false,
  erasure_asked_at timestamptz,
  first_sent_at   timestamptz
);

create table conversation (
  conversation_id     uuid        primary key,
  tenant              uuid        not null,
  contact_id          uuid        not null,
  channel_id          uuid,
  context_revision    bigint      not null default 0,
  last_inbound_at     timestamptz,
  owner               text        not null default 'agent' check (owner in ('agent', 'person')),
  ownership_version   bigint      not null default 0,
  taken_over_revision bigint,
  open_case           uuid
);
create index conversation_by_contact on conversation (contact_id);

-- What left a number, for the spinning gate: recent texts only, pruned with the retention of message texts.
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

-- ------------------------------------------------------------------------------------------------------ people's pages

alter table person add check (roles <@ array['approver', 'viewer', 'auditor', 'administrator']);

-- The register shows the newest wish first.
create index contact_by_wish on contact
  (tenant, coalesce(opted_out_at, erasure_asked_at, paused_at, timestamptz '1970-01-01 00:00:00+00') desc, contact_id desc);

-- What became of a contact's wish: the proof of it, kept as it happened.
create table consent_history (
  entry_id   bigint      generated always as identity primary key,
  tenant     uuid        not null,
  contact_id uuid        not null,
  state      text        not null
    check (state in ('opted_out', 'opted_in', 'paused', 'erasure_requested', 'merged')),
  -- the message that said so, where one did; of a merge, the contact that was merged into this one
  cause_id   uuid,
  at         timestamptz not null
);
create index consent_history_of on consent_history (contact_id, entry_id);

-- A person says that a veto was wrong. It outlives the run, so it repeats what was vetoed.
create table dispute (
  dispute_id bigint      generated always as identity primary key,
  tenant     uuid        not null,
  run_id     uuid        not null,
  gate       text        not null,
  code       text        not null,
  author     text        not null,
  reason     text        not null check (reason <> ''),
  at         timestamptz not null default clock_timestamp(),
  unique (run_id, gate, author)
);
create index dispute_recent on dispute (tenant, dispute_id desc);

-- Everything that a person changed here: who, when, what.
create table act (
  act_id  bigint      generated always as identity primary key,
  tenant  uuid        not null,
  author  text        not null check (author <> ''),
  what    text        not null check (what in ('rules_saved', 'rules_restored', 'veto_disputed')),
  -- a version of the rules, or a run
  subject text        not null,
  reason  text        not null check (reason <> ''),
  at      timestamptz not null default clock_timestamp()
);
create index act_recent on act (tenant, act_id desc);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;
create trigger rules_laws   before update or delete on rules           for each row execute function refuse_change();
create trigger consent_laws before update or delete on consent_history for each row execute function refuse_change();
create trigger dispute_laws before update or delete on dispute         for each row execute function refuse_change();
create trigger act_laws     before update or delete on act             for each row execute function refuse_change();
