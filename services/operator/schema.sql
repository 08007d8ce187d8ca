-- What the operating role knows and did. Nothing here names a channel, an address or a key.

-- A tenant's switches; no row means the role is on with every operation.
create table setting (
  tenant       uuid        primary key,
  is_role_on   boolean     not null default true,
  operations   text[]
);

-- Projection: whose the conversation is, and in which language it is held.
create table conversation (
  conversation_id uuid     primary key,
  tenant          uuid     not null,
  contact_id      uuid,
  owner           text     not null default 'agent' check (owner in ('agent', 'person')),
  owner_version   integer  not null default 0,
  language        text     not null default 'pt-BR'
);

-- What was really said: customers' words and texts that left. Drafts never come here.
create table line (
  line_id         uuid        primary key,
  tenant          uuid        not null,
  conversation_id uuid        not null,
  by              text        not null check (by in ('customer', 'business')),
  text            text        not null,
  at              timestamptz not null
);
create index line_latest on line (conversation_id, at desc);

create table lead (
  contact_id uuid        primary key,
  tenant     uuid        not null,
  name       text        not null default '',
  stage      text        not null default 'new'
    check (stage in ('new', 'contacted', 'qualifying', 'qualified', 'negotiating', 'won', 'lost')),
  version    integer     not null default 0,
  moved_by   text        not null default 'system' check (moved_by in ('agent', 'person', 'system')),
  created_at timestamptz not null default now()
);

create table tag (
  tenant     uuid not null,
  contact_id uuid not null,
  tag        text not null check (tag <> ''),
  primary key (contact_id, tag)
);

create table task (
  task_id         uuid        primary key,
  tenant          uuid        not null,
  contact_id      uuid        not null,
  conversation_id uuid        not null,
  turn_id         uuid,
  title           text        not null check (title <> ''),
  details         text        not null default '',
  due_at          timestamptz,
  state           text        not null default 'open' check (state in ('open', 'done', 'cancelled')),
  created_at      timestamptz not null
);
create index task_open on task (contact_id) where state = 'open';

create table support_case (
  case_id         uuid        primary key,
  tenant          uuid        not null,
  contact_id      uuid        not null,
  conversation_id uuid        not null,
  turn_id         uuid,
  subject         text        not null check (subject <> ''),
  details         text        not null default '',
  priority        text        not null default 'normal' check (priority in ('normal', 'high')),
  state           text        not null default 'awaiting_human'
    check (state in ('awaiting_human', 'awaiting_lead', 'resolved', 'escalated', 'cancelled')),
  opened_at       timestamptz not null
);
-- One open case per conversation.
create unique index case_open on support_case (conversation_id) where state in ('awaiting_human', 'awaiting_lead');

create table fact (
  fact_id         uuid        primary key,
  tenant          uuid        not null,
  contact_id      uuid        not null,
  conversation_id uuid,
  kind            text        not null
    check (kind in ('contract_signed', 'contract_delivered', 'preference', 'identity', 'other')),
  subject         text        not null,
  value           text        not null,
  source          text        not null,
  observed_at     timestamptz not null,
  -- A contract counts once a person or the source system confirms it, never because the model says so.
  check (source <> 'operator' or kind not in ('contract_signed', 'contract_delivered'))
);
create index fact_of_contact on fact (contact_id, observed_at desc);

-- What people read about a lead, with the turn that did it.
create table timeline (
  entry_id        uuid        primary key,
  tenant          uuid        not null,
  contact_id      uuid        not null,
  conversation_id uuid,
  turn_id         uuid,
  by              text        not null check (by in ('agent', 'person', 'customer', 'system')),
  kind            text        not null,
  text            text        not null,
  at              timestamptz not null
);
create index timeline_of_contact on timeline (contact_id, at desc);

-- One row a turn, always: acting, not acting and not being able to act are all decisions.
create table decision (
  turn_id         uuid        primary key,
  tenant          uuid        not null,
  conversation_id uuid        not null,
  contact_id      uuid        not null,
  outcome         text        not null check (outcome in ('acted', 'nothing', 'skipped', 'could_not_act')),
  reason          text        not null default '',
  calls           jsonb       not null default '[]',
  note            text        not null default '',
  model           text        not null default '',
  model_rounds    integer     not null default 0,
  tokens_in       integer     not null default 0,
  tokens_out      integer     not null default 0,
  at              timestamptz not null,
  check (outcome <> 'skipped' or model_rounds = 0 or reason = 'person_has_lead')
);

-- Projection: which obligation stands for which turn, and what became of it.
create table filing (
  obligation_id uuid     primary key,
  tenant        uuid     not null,
  turn_id       uuid,
  epoch         integer  not null default -1,
  state         text     not null check (state in ('open', 'ended', 'sent'))
);
create index filing_of_turn on filing (turn_id);

-- A promise is remembered at the turn's end and judged when its text has left.
create table promise (
  promise_id      uuid        primary key,
  tenant          uuid        not null,
  turn_id         uuid        not null,
  conversation_id uuid        not null,
  contact_id      uuid        not null,
  what            text        not null,
  due_at          timestamptz,
  state           text        not null default 'waiting' check (state in ('waiting', 'void', 'owned', 'ownerless'))
);
create index promise_of_turn on promise (turn_id);
