-- The bus's own tables, in every service's schema. A lane is topic × key: in order inside, lanes in parallel.

-- Next position to hear of a lane. `lane_seq < next_seq` is the permanent duplicate test, so inbox rows can go.
create table lane_in (
  lane        text        primary key,
  next_seq    bigint      not null default 0,
  has_waiting boolean     not null default false,
  waiting_since timestamptz,
  parked_at   timestamptz,
  parked_why  text
) with (fillfactor = 60);
create index lane_in_waiting on lane_in (lane) where has_waiting;

-- One row a message: enough to see "same slot, other id"; the payload only while the message has to wait.
create table inbox (
  lane        text        not null,
  lane_seq    bigint      not null,
  msg_id      uuid        not null,
  digest      bytea       not null,
  subject     text        not null,
  headers     jsonb       not null default '{}',
  payload     bytea,
  state       text        not null check (state in ('ready', 'done')),
  attempts    integer     not null default 0,
  not_before  timestamptz not null default now(),
  received_at timestamptz not null default now(),
  last_error  text,
  primary key (lane, lane_seq),
  check (state = 'done' or payload is not null)
);

-- What could not be taken: undecodable, or a second id for a slot. Kept, counted, never swallowed.
create table quarantine (
  id          bigint      generated always as identity primary key,
  subject     text        not null,
  stream_seq  bigint      not null default 0,
  headers     jsonb       not null default '{}',
  payload     bytea,
  why         text        not null,
  at          timestamptz not null default now()
);

create table lane_out (
  lane     text   primary key,
  next_seq bigint not null default 0
) with (fillfactor = 60);

create table outbox (
  id           bigint      generated always as identity primary key,
  msg_id       uuid        not null unique,
  subject      text        not null,
  lane         text        not null,
  lane_seq     bigint      not null,
  headers      jsonb       not null default '{}',
  -- or one row would poison the publisher: the server's limit is 256 KiB
  payload      bytea       not null check (octet_length(payload) <= 204800),
  created_at   timestamptz not null default clock_timestamp(),
  published_at timestamptz,
  unique (lane, lane_seq)
);
create index outbox_pending on outbox (id) where published_at is null;
create index outbox_published on outbox (published_at) where published_at is not null;

-- Timers and slow work. No lane position: nothing that waits ever sits in a lane.
create table job (
  id           uuid        primary key,
  seq          bigint      generated always as identity,
  kind         text        not null,
  key          text        not null,
  is_ordered   boolean     not null default false,
  tenant       uuid        not null,
  cause        uuid        not null,
  traceparent  text        not null default '',
  payload      bytea       not null,
  due_at       timestamptz not null default clock_timestamp(),
  attempts     integer     not null default 0,
  lease_token  uuid,
  leased_until timestamptz,
  parked_at    timestamptz,
  last_error   text,
  created_at   timestamptz not null default clock_timestamp()
);
create index job_due on job (due_at) where parked_at is null;
create index job_by_key on job (kind, key, seq);
