-- conversador: what was said in each conversation, the turns of the speaking role, and what it knows.
--
-- Laws
-- - One live turn per conversation; whoever changes it holds the conversation's row.
-- - `step` fences: a job that carries another step than its turn's does nothing.
-- - History shows what the customer wrote and what was really sent, never a draft.
-- - What a model was shown (`transcript`) lives as long as its turn; model calls are recorded without text.

create table conversation (
  conversation_id  uuid        primary key,
  tenant           uuid        not null,
  contact_id       uuid        not null,
  channel_id       uuid        not null,
  destination      jsonb       not null,
  language         text        not null,
  sender_name      text        not null default '',
  context_revision bigint      not null default 0,
  rolling_summary  text        not null default ''
);

-- approval's word; apart from the conversation because it may arrive before the first message does
create table ownership (
  conversation_id uuid   primary key,
  tenant          uuid   not null,
  owner           text   not null check (owner in ('agent', 'person')),
  version         bigint not null
);

create table contact (
  contact_id uuid        primary key,
  tenant     uuid        not null,
  name       text        not null default '',
  consent    text        not null default 'unknown'
             check (consent in ('unknown', 'opted_out', 'opted_in', 'paused', 'erasure_requested')),
  consent_at timestamptz
);

create table history (
  seq             bigint      generated always as identity primary key,
  tenant          uuid        not null,
  conversation_id uuid        not null,
  -- the customer's message id; for what we sent, the decision's
  entry_id        uuid        not null,
  -- of what we sent: whose text it is
  obligation_id   uuid,
  author          text        not null check (author in ('customer', 'us', 'person')),
  text            text        not null,
  media_kind      text,
  is_draftable    boolean     not null default false,
  is_edited       boolean     not null default false,
  revoked_at      timestamptz,
  at              timestamptz not null,
  unique (conversation_id, entry_id),
  check (revoked_at is null or text = '')
);
create index history_of_conversation on history (conversation_id, seq desc);
create index history_of_obligation on history (obligation_id) where obligation_id is not null;

create table turn (
  id               uuid        primary key,
  tenant           uuid        not null,
  conversation_id  uuid        not null,
  contact_id       uuid        not null,
  channel_id       uuid        not null,
  kind             text        not null check (kind in ('inbound_turn', 'followup_turn', 'case_reply_turn', 'preview_turn')),
  state            text        not null
                   check (state in ('drafting', 'judging', 'closing', 'closed', 'superseded', 'handed_off')),
  outcome          text        not null default ''
                   check (outcome in ('', 'spoke', 'silent', 'handed_off', 'skipped', 'superseded', 'failed')),
  reason           text        not null default '',
  step             integer     not null default 0,
  context_revision bigint      not null,
  destination      jsonb       not null,
  language         text        not null,
  started_at       timestamptz not null,
  -- null while a burst is still being gathered
  begun_at         timestamptz,
  closed_at        timestamptz,
  rewrites         integer     not null default 0 check (rewrites between 0 and 2),
  vetoed_by        text        not null default '',
  draft_id         uuid,
  body             text        not null default '',
  opens_case       uuid,
  -- why the turn speaks: the team's answer, a follow-up's reason
  note             text        not null default '',
  -- a person sent the previous text back and said how
  instruction      text        not null default '',
  previous_body    text        not null default '',
  redraft_of       jsonb,
  transcript       jsonb       not null default '[]',
  evidence         jsonb       not null default '[]',
  rolling_summary  text        not null default '',
  obligation_id    uuid,
  decision         text        not null default ''
                   check (decision in ('', 'filed', 'refused', 'approved', 'rejected', 'sent_back', 'ended')),
  decision_reason  text        not null default '',
  check ((closed_at is null) = (state in ('drafting', 'judging', 'closing'))),
  check (state <> 'judging' or draft_id is not null),
  check (closed_at is null or (outcome <> '' and transcript = '[]'))
);
create unique index turn_one_live_per_conversation on turn (conversation_id) where closed_at is null;
create index turn_by_draft on turn (draft_id) where draft_id is not null;
create index turn_by_obligation on turn (obligation_id) where obligation_id is not null;

create table model_call (
  id         uuid        primary key,
  tenant     uuid        not null,
  turn_id    uuid        not null,
  purpose    text        not null check (purpose in ('agent_turn', 'followup_turn', 'checkpoint')),
  model      text        not null,
  outcome    text        not null check (outcome in ('answered', 'content_blocked', 'timeout', 'unavailable', 'refused')),
  tokens_in  integer     not null default 0,
  tokens_out integer     not null default 0,
  latency_ms integer     not null,
  at         timestamptz not null
);
create index model_call_of_turn on model_call (turn_id);
create index model_call_by_age on model_call using brin (at);

create table knowledge (
  tenant     uuid        not null,
  id         uuid        not null,
  title      text        not null,
  body       text        not null,
  keywords   text        not null default '',
  language   text        not null check (language in ('pt-BR', 'en', 'es')),
  version    text        not null,
  search     tsvector    not null,
  primary key (tenant, id)
);
create index knowledge_by_text on knowledge using gin (search);

create table knowledge_search (
  id        uuid             primary key,
  tenant    uuid             not null,
  turn_id   uuid             not null,
  query     text             not null,
  hits      integer          not null,
  top_score double precision not null,
  threshold double precision not null,
  at        timestamptz      not null
);

create table follow_up (
  follow_up_id    uuid        primary key,
  tenant          uuid        not null,
  conversation_id uuid        not null,
  due_at          timestamptz not null,
  reason          text        not null,
  state           text        not null default 'waiting' check (state in ('waiting', 'begun', 'cancelled'))
);
create index follow_up_waiting on follow_up (conversation_id) where state = 'waiting';

create table open_case (
  case_id         uuid        primary key,
  tenant          uuid        not null,
  conversation_id uuid        not null,
  subject         text        not null,
  opened_at       timestamptz not null,
  closed_at       timestamptz
);
create index open_case_of_conversation on open_case (conversation_id) where closed_at is null;

create table fact (
  fact_id     uuid        primary key,
  tenant      uuid        not null,
  contact_id  uuid        not null,
  kind        text        not null,
  subject     text        not null,
  value       text        not null,
  observed_at timestamptz not null
);
create index fact_of_contact on fact (contact_id, observed_at desc);
