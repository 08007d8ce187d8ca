-- Runs keep their words in a row of their own, which can be erased. The release before goes on writing them into `run`
-- until it is gone; 0002 moves those.
alter table run
  add column text_id uuid,
  add column recent uuid[] not null default '{}',
  add column shadow jsonb not null default '[]',
  add column decision_id uuid;
create index run_in_order on run (at, run_id);
create index run_by_decision on run (decision_id) where decision_id is not null;
drop index run_by_age;

-- Came to `schema.sql` shortly before the first migration: an installation may have it or not.
create table if not exists review (
  key        bytea       primary key,
  tenant     uuid        not null,
  classifier text        not null,
  review     jsonb       not null,
  at         timestamptz not null default now()
);

create table run_text (
  text_id      uuid        primary key,
  tenant       uuid        not null,
  conversation_id uuid     not null,
  sha256       bytea,
  words        jsonb,
  at           timestamptz not null,
  redacted_at  timestamptz,
  check (redacted_at is null or (words is null and sha256 is null))
);
create unique index run_text_once on run_text (conversation_id, sha256);
create index run_text_by_age on run_text (at);

create table filed (
  obligation_id uuid        not null,
  epoch         bigint      not null,
  tenant        uuid        not null,
  draft_id      uuid        not null,
  at            timestamptz not null,
  primary key (obligation_id, epoch)
);
create index filed_by_draft on filed (draft_id);
create index filed_by_age on filed (at);

create index sent_text_by_age on sent_text (at);
create index dispatch_by_obligation on dispatch (obligation_id);

-- A merged contact leads to the row that counts; a take-over or a case may be heard before its conversation.
alter table contact add column merged_into uuid;
create index contact_merged on contact (merged_into) where merged_into is not null;
create function survivor(id uuid) returns uuid language sql stable as $$
  select coalesce((select merged_into from contact where contact_id = id), id)
$$;
alter table conversation alter column contact_id drop not null;
