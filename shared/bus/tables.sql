-- The bus's own tables, in every service's schema. A lane is topic × key: in order inside, lanes in parallel.

-- Next position to hear of a lane. `lane_seq < next_seq` is the permanent duplicate test.
create table lane_in (
  lane          text        primary key,
  next_seq      bigint      not null default 0,
  -- the row of `heard` that holds the lane's last position; 0 before the first
  last_entry    bigint      not null default 0,
  has_waiting   boolean     not null default false,
  waiting_since timestamptz,
  parked_at     timestamptz,
  parked_why    text,
  moved_on      date        not null default current_date
) with (fillfactor = 60);
create index lane_in_waiting on lane_in (waiting_since) where has_waiting and parked_at is null;
create index lane_in_parked on lane_in (parked_at) where parked_at is not null;
-- "does anything about this key stand still", whatever the lane's generation
create index lane_in_held on lane_in (split_part(lane, ':', 3)) where has_waiting or parked_at is not null;

-- What ran, one row a batch: (lane, position, id, body) of each message in forty bytes and a pointer to the lane's entry
-- before. Enough to see "same position, other id or body" (shared/bus/heard.py).
create table heard (
  id      bigint      generated always as identity primary key,
  at      timestamptz not null default clock_timestamp(),
  entries bytea       not null,
  -- how far the batch came, also one of which nothing ran; empty for what was drained: the stream is acknowledged up to
  -- here, so a consumer that is further says that rows are gone (shared/bus/continuity.py)
  topic        text   not null default '',
  stream_seq   bigint not null default 0,
  consumer_seq bigint not null default 0
);
alter table heard alter column entries set storage external;
create index heard_at on heard using brin (at);
create index heard_reached on heard (topic, stream_seq) where topic <> '';

-- What waits, with its payload: behind a gap, delivered twice, of a batch that failed, behind a parked message.
create table inbox (
  lane        text        not null,
  lane_seq    bigint      not null,
  msg_id      uuid        not null,
  digest      bytea       not null,
  subject     text        not null,
  headers     jsonb       not null default '{}',
  payload     bytea       not null,
  attempts    integer     not null default 0,
  not_before  timestamptz not null default now(),
  received_at timestamptz not null default now(),
  last_error  text,
  primary key (lane, lane_seq)
);

-- What could not be taken: undecodable, or a second id for a slot. Kept once, counted, never swallowed.
create table quarantine (
  id          bigint      generated always as identity primary key,
  subject     text        not null,
  stream_seq  bigint      not null default 0,
  headers     jsonb       not null default '{}',
  payload     bytea,
  digest      bytea       not null unique,
  why         text        not null,
  at          timestamptz not null default now()
);

-- Next position to say of a topic's key. The lane is named <topic>:<generation>:<key>; one in which nothing was said for
-- 20 days is opened anew under a later generation, so that its rows may go on both sides (shared/retention.py).
create table lane_out (
  topic      text    not null,
  key        uuid    not null,
  generation integer not null,
  next_seq   bigint  not null default 0,
  used_on    date    not null default current_date,
  primary key (topic, key)
) with (fillfactor = 60);

-- A writer is one process's run. Everything of it up to `mark` is acknowledged by the stream (shared/bus/outbox.py).
create table outbox_writer (
  writer    integer     generated always as identity primary key,
  mark      bigint      not null default 0,
  seen_at   timestamptz not null default clock_timestamp(),
  closed_at timestamptz,
  swept_at  timestamptz
) with (fillfactor = 20);
create index outbox_writer_unswept on outbox_writer (writer) where swept_at is null;

-- Rows are only ever added. A batch is one transaction of its writer; subject and headers follow from what stands here.
create table outbox (
  writer      integer     not null,
  batch       bigint      not null,
  item        integer     not null,
  msg_id      uuid        not null,
  lane        text        not null,
  lane_seq    bigint      not null,
  cause       uuid        not null,
  traceparent text        not null,
  created_at  timestamptz not null default clock_timestamp(),
  -- or one row would poison the publisher: the server's limit is 256 KiB
  payload     bytea       not null check (octet_length(payload) <= 204800),
  primary key (writer, batch, item)
);
create index outbox_at on outbox using brin (created_at);

-- What is to be published once more: refused by its stream, or asked for by a person (`chancela lanes replay`).
create table outbox_again (
  writer integer     not null,
  batch  bigint      not null,
  item   integer     not null,
  since  timestamptz not null default clock_timestamp(),
  primary key (writer, batch, item)
);

-- Ids of what this service said in the part of its past that its database has lost: hearers have it. What is heard once
-- more and leads to the same is not said a second time. Filled by `chancela recover`, else empty.
create table said_before (
  msg_id uuid        primary key,
  schema text        not null,
  at     timestamptz not null default clock_timestamp()
);

-- The database has lost what its service had acknowledged: it was restored to an older state. Until `recovered_at` the
-- service stands still; until `lifted_at`, which a person writes, it begins no send. One is open at a time.
create table hold (
  id           bigint      generated always as identity primary key,
  since        timestamptz not null default clock_timestamp(),
  why          text        not null,
  recovered_at timestamptz,
  lifted_at    timestamptz check (lifted_at is null or recovered_at is not null)
);
create unique index hold_open on hold ((true)) where lifted_at is null;

-- Timers and slow work. No lane position: nothing that waits ever sits in a lane.
create table job (
  id           uuid        primary key,
  seq          bigint      generated always as identity,
  kind         text        not null,
  key          text        not null,
  is_ordered   boolean     not null default false,
  is_behind    boolean     not null default false, -- an earlier ordered job of its kind and key is still there
  tenant       uuid        not null,
  cause        uuid        not null,
  traceparent  text        not null default '',
  payload      bytea       not null,
  due_at       timestamptz not null default clock_timestamp(),
  attempts     integer     not null default 0,
  lost         integer     not null default 0,     -- runs that were never settled: their process ended
  lease_token  uuid,
  leased_until timestamptz,
  parked_at    timestamptz,
  last_error   text,
  created_at   timestamptz not null default clock_timestamp()
);
create index job_turn on job (kind, tenant, due_at, seq) where parked_at is null and not is_behind and lost = 0;
create index job_suspect on job (due_at) where parked_at is null and not is_behind and lost > 0;
create index job_by_key on job (kind, key, seq);
create index job_parked on job (parked_at) where parked_at is not null;

-- Of the ordered jobs of a kind and key only the first stands in the queue (is_behind is false), so that taking never
-- looks at the others, however many they are. The advisory lock makes "is there an earlier one" and "the first is gone,
-- the next has its turn" one after the other; it is held to the end of the transaction, per kind and key.
create function job_stands_behind() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(new.kind || ' ' || new.key, 0));
  new.is_behind := exists (
    select 1 from job e where e.kind = new.kind and e.key = new.key and e.is_ordered and e.id <> new.id);
  return new;
end $$;
create trigger job_stands_behind before insert on job
  for each row when (new.is_ordered) execute function job_stands_behind();

-- The next of the key gets its turn at the end of its tenant's queue: a key with many waits among the others.
create function job_moves_up() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(old.kind || ' ' || old.key, 0));
  update job set is_behind = false, due_at = greatest(due_at, clock_timestamp())
  where is_behind and id = (
    select e.id from job e where e.kind = old.kind and e.key = old.key and e.is_ordered order by e.seq limit 1);
  return null;
end $$;
create trigger job_moves_up after delete on job
  for each row when (old.is_ordered) execute function job_moves_up();

-- Who moved what by hand, and why (`chancela lanes`, `chancela recover`). Append-only.
create table repair (
  id     bigint      generated always as identity primary key,
  at     timestamptz not null default clock_timestamp(),
  who    text        not null check (who <> ''),
  what   text        not null check (what in ('unpark', 'skip', 'replay', 'resume', 'recover', 'lift')),
  lane   text,       -- or `job:<id>`; null: the whole service
  seq    bigint,
  reason text        not null default ''
);
create index repair_at on repair (at);
