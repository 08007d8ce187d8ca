-- The approval ledger. Nothing reaches a counterparty unless a person who was allowed to decide saw exactly those bytes,
-- for exactly that destination, and said yes. What follows states that promise in tables, and refuses what breaks it,
-- also when this service itself asks.

-- --------------------------------------------------------------------------------------------------- people and keys

-- `person` and `session` stand in shared/web/tables.sql.
alter table person add check (roles <@ array['approver', 'viewer', 'auditor', 'administrator']);

-- A key of an outside program. It files drafts, or keeps the baseline's facts; there is no scope that decides.
create table api_key (
  tenant     uuid        not null,
  id         uuid        primary key,
  name       text        not null check (name <> ''),
  key_hash   bytea       not null unique,
  scopes     text[]      not null check (scopes <@ array['file', 'baseline']),
  is_internal boolean    not null default false,
  created_by text        not null,
  created_at timestamptz not null default clock_timestamp(),
  revoked_at timestamptz
);

-- What a caller got for its Idempotency-Key; kept for a day.
create table idempotency (
  tenant     uuid        not null,
  caller     text        not null,
  key        text        not null check (length(key) between 1 and 200),
  digest     bytea       not null,
  answer     jsonb       not null,
  at         timestamptz not null default clock_timestamp(),
  primary key (tenant, caller, key)
);

-- --------------------------------------------------------------------------- what we heard: the panel's projections

create table conversation (
  tenant           uuid        not null,
  id               uuid        primary key,
  contact_id       uuid        not null,
  channel_id       uuid,
  destination      jsonb,
  language         text        not null default 'pt-BR',
  context_revision bigint      not null default 0,
  last_trigger_id  uuid,
  owner            text        not null default 'agent' check (owner in ('agent', 'person')),
  owner_state      text        not null default 'agent' check (owner_state in ('agent', 'person', 'handoff')),
  owner_person     text        not null default '',
  owner_reason     text        not null default '',
  owner_version    bigint      not null default 0,
  updated_at       timestamptz not null default clock_timestamp(),
  check ((owner = 'agent') = (owner_state = 'agent'))
);

create table contact (
  tenant     uuid        not null,
  id         uuid        primary key,
  name       text        not null default '',
  has_phone  boolean     not null default false,
  consent    text        not null default '',
  consent_at timestamptz
);

create table channel_status (
  tenant     uuid        not null,
  channel_id uuid        primary key,
  status     text        not null,
  is_ready   boolean     not null,
  at         timestamptz not null
);

create table utterance (
  tenant          uuid        not null,
  id              uuid        primary key,
  -- in the order in which we heard: channels give whole seconds, and several messages share one
  seq             bigint      generated always as identity,
  conversation_id uuid        not null,
  direction       text        not null check (direction in ('customer', 'ours', 'phone')),
  text            text        not null,
  media_kind      text,
  at              timestamptz not null,
  edited_at       timestamptz,
  revoked_at      timestamptz,
  level           text        not null default ''
);
create index utterance_of_conversation on utterance (conversation_id, seq);

create table fact (
  tenant      uuid        not null,
  id          uuid        primary key,
  contact_id  uuid        not null,
  kind        text        not null,
  subject     text        not null,
  value       text        not null,
  source      text        not null,
  observed_at timestamptz not null,
  is_put      boolean     not null default false
);
create index fact_of_contact on fact (tenant, contact_id, observed_at desc);

create table alert (
  tenant          uuid        not null,
  id              uuid        primary key,
  conversation_id uuid,
  obligation_id   uuid,
  kind            text        not null,
  severity        text        not null check (severity in ('info', 'warning', 'critical')),
  text            text        not null,
  at              timestamptz not null,
  acknowledged_by text,
  acknowledged_at timestamptz,
  check ((acknowledged_by is null) = (acknowledged_at is null))
);
create index alert_unseen on alert (tenant, at desc) where acknowledged_at is null;

-- A draft of an outside agent, or a person's own text, on its way through the gates.
create table submitted (
  tenant          uuid        not null,
  id              uuid        primary key,
  conversation_id uuid        not null,
  author          text        not null,
  origin          text        not null check (origin in ('outside', 'person')),
  context         text        not null default '',
  summary         text        not null default '',
  override_by     text,
  receipt         text        not null default 'quiet' check (receipt in ('internal_ops', 'counterparty_visible', 'quiet')),
  status          text        not null default 'checking' check (status in ('checking', 'filed', 'refused')),
  obligation_id   uuid,
  code            text        not null default '',
  detail          text        not null default '',
  at              timestamptz not null default clock_timestamp()
);

-- ------------------------------------------------------------------------------------------------------ the ledger

create table obligation (
  tenant          uuid        not null,
  id              uuid        primary key,
  conversation_id uuid        not null references conversation (id),
  contact_id      uuid        not null,
  kind            text        not null check (kind in ('reply', 'follow_up', 'transactional')),
  direction       text        not null default 'we_owe_them' check (direction in ('we_owe_them', 'they_owe_us', 'none')),
  state           text        not null check (state in ('open', 'waiting_agent', 'approved', 'sent', 'uncertain',
                                'failed', 'rejected', 'withdrawn', 'superseded', 'expired')),
  epoch           bigint      not null check (epoch >= 1),
  rounds          integer     not null default 0 check (rounds between 0 and 3),
  opened_at       timestamptz not null,
  expires_at      timestamptz not null,
  updated_at      timestamptz not null,
  decision_id     uuid,
  decided_by      text        not null default '',
  decided_at      timestamptz,
  delivery        text        not null default 'none' check (delivery in ('none', 'queued', 'deferred', 'cleared',
                                'begun', 'accepted', 'delivered', 'read', 'uncertain', 'failed', 'refused')),
  leaves_at       timestamptz,
  banners         jsonb       not null default '[]',
  check (state not in ('approved', 'sent', 'uncertain', 'failed') or decision_id is not null)
);

-- One open text per conversation and kind: a second filing replaces the first, and advances its epoch.
create unique index obligation_one_open on obligation (tenant, conversation_id, kind) where state in ('open', 'waiting_agent');
create index obligation_queue on obligation (tenant, expires_at) where state in ('open', 'waiting_agent', 'approved', 'uncertain', 'failed');
create index obligation_of_conversation on obligation (conversation_id, updated_at);

-- The texts of an obligation, one an epoch. Redaction (erasure) empties the text and destroys the salt; nothing else changes.
create table version (
  tenant           uuid        not null,
  obligation_id    uuid        not null references obligation (id),
  epoch            bigint      not null,
  draft_id         uuid        not null,
  turn_id          uuid,
  origin           text        not null check (origin in ('agent', 'outside', 'person')),
  author           text        not null,
  body             text        not null,
  drafted_body     text        not null,
  body_sha256      text        not null,
  destination      jsonb       not null,
  salt             bytea,
  commitment       text        not null check (length(commitment) = 64),
  context_revision bigint      not null,
  context          text        not null default '',
  summary          text        not null default '',
  language         text        not null,
  basis            jsonb       not null,
  filed_at         timestamptz not null,
  redacted_at      timestamptz,
  primary key (obligation_id, epoch),
  check (redacted_at is not null or (salt is not null and length(salt) = 32))
);

-- A person's word on one epoch, once.
create table vote (
  tenant        uuid        not null,
  obligation_id uuid        not null,
  epoch         bigint      not null,
  person        text        not null,
  verb          text        not null check (verb in ('approve', 'reject', 'send_back')),
  commitment    text        not null,
  reason        text        not null default '',
  at            timestamptz not null,
  primary key (obligation_id, epoch, person),
  foreign key (obligation_id, epoch) references version (obligation_id, epoch),
  foreign key (tenant, person) references person (tenant, email)
);

-- What was approved: immutable, one an epoch, and only where somebody voted for exactly that commitment.
create table snapshot (
  tenant           uuid        not null,
  decision_id      uuid        primary key,
  obligation_id    uuid        not null,
  epoch            bigint      not null,
  commitment       text        not null,
  context_revision bigint      not null,
  policy           text        not null,
  policy_version   integer     not null,
  voters           text[]      not null check (cardinality(voters) >= 1),
  decided_at       timestamptz not null,
  send_by          timestamptz not null check (send_by > decided_at),
  not_before       timestamptz,
  reply_after_opt_out boolean  not null default false,
  seal             jsonb       not null,
  unique (obligation_id, epoch),
  foreign key (obligation_id, epoch) references version (obligation_id, epoch)
);

-- What became of an approval, as guardrails and delivery told it.
create table ledger (
  id            bigint      generated always as identity primary key,
  tenant        uuid        not null,
  obligation_id uuid        not null references obligation (id),
  decision_id   uuid,
  event         text        not null,
  code          text        not null default '',
  detail        text        not null default '',
  at            timestamptz not null,
  heard_at      timestamptz not null,
  cause         uuid        not null,
  unique (cause, event)
);
create index ledger_of_obligation on ledger (obligation_id, id);

-- Who did what, when: entries and the chain that binds them, one chain a tenant. No text of a customer is in it.
create table audit (
  tenant uuid        not null,
  id     uuid        primary key,
  entry  text        not null
);
create table audit_link (
  tenant   uuid   not null,
  seq      bigint not null check (seq >= 1),
  audit_id uuid   not null unique references audit (id),
  previous bytea  not null,
  hash     bytea  not null,
  primary key (tenant, seq)
);

-- What changed, for pages that are open: kinds, ids and versions only. `xid` lets a reader wait for every earlier writer.
create table change (
  seq    bigint      generated always as identity primary key,
  xid    xid8        not null default pg_current_xact_id(),
  tenant uuid        not null,
  kind   text        not null,
  id     uuid        not null,
  version bigint     not null,
  at     timestamptz not null default clock_timestamp()
);
create index change_in_order on change (xid, seq);

-- -------------------------------------------------------------------------------------------------------- the laws

-- An obligation's life. `sent` and `uncertain` may also be told late, of an approval that was lost while it was leaving.
create function obligation_may_become(was text, becomes text) returns boolean language sql immutable as $$
  select was = becomes or case was
    when 'open'          then becomes in ('waiting_agent', 'approved', 'rejected', 'withdrawn', 'superseded', 'expired', 'sent', 'uncertain')
    when 'waiting_agent' then becomes in ('open', 'withdrawn', 'superseded', 'expired', 'sent', 'uncertain')
    when 'approved'      then becomes in ('sent', 'uncertain', 'failed', 'open', 'withdrawn', 'superseded')
    when 'uncertain'     then becomes in ('sent', 'failed')
    when 'sent'          then becomes in ('failed')
    when 'failed'        then becomes in ('open', 'superseded')
    when 'superseded'    then becomes in ('sent', 'uncertain')
    when 'withdrawn'     then becomes in ('sent', 'uncertain')
    when 'expired'       then becomes in ('sent', 'uncertain')
    else false
  end
$$;

create function guard_obligation() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    raise exception 'an obligation is never deleted' using errcode = 'restrict_violation';
  end if;
  if tg_op = 'INSERT' then
    if new.state not in ('open', 'superseded') or new.epoch <> 1 or new.decision_id is not null then
      raise exception 'an obligation begins open, at epoch 1, undecided' using errcode = 'restrict_violation';
    end if;
    return new;
  end if;
  if (new.tenant, new.conversation_id, new.contact_id, new.kind) is distinct from
     (old.tenant, old.conversation_id, old.contact_id, old.kind) then
    raise exception 'an obligation keeps its conversation, contact and kind' using errcode = 'restrict_violation';
  end if;
  if new.epoch < old.epoch then
    raise exception 'epochs only grow (% -> %)', old.epoch, new.epoch using errcode = 'restrict_violation';
  end if;
  if not obligation_may_become(old.state, new.state) then
    raise exception 'an obligation that is % cannot become %', old.state, new.state using errcode = 'restrict_violation';
  end if;
  if new.state = 'approved' and not exists (
      select 1 from snapshot s where s.decision_id = new.decision_id and s.obligation_id = new.id and s.epoch = new.epoch) then
    raise exception 'approved needs a snapshot of this epoch' using errcode = 'restrict_violation';
  end if;
  if new.state in ('sent', 'uncertain', 'failed') and not exists (
      select 1 from snapshot s where s.decision_id = new.decision_id and s.obligation_id = new.id) then
    raise exception 'nothing is sent without a snapshot' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger obligation_laws before insert or update or delete on obligation for each row execute function guard_obligation();

create function guard_version() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and new.redacted_at is not null and new.salt is null and new.body = '' and new.drafted_body = '' and
     (new.tenant, new.obligation_id, new.epoch, new.draft_id, new.origin, new.commitment, new.context_revision, new.filed_at) is not distinct from
     (old.tenant, old.obligation_id, old.epoch, old.draft_id, old.origin, old.commitment, old.context_revision, old.filed_at) then
    return new;
  end if;
  raise exception 'a filed text is never changed, only redacted' using errcode = 'restrict_violation';
end $$;
create trigger version_laws before update or delete on version for each row execute function guard_version();

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;
create trigger vote_laws       before update or delete on vote       for each row execute function refuse_change();
create trigger snapshot_laws   before update or delete on snapshot   for each row execute function refuse_change();
create trigger ledger_laws     before update or delete on ledger     for each row execute function refuse_change();
create trigger audit_laws      before update or delete on audit      for each row execute function refuse_change();
create trigger audit_link_laws before update or delete on audit_link for each row execute function refuse_change();

-- A snapshot needs a vote to approve for the very commitment, by each of its voters, and repeats the version's.
create function guard_snapshot() returns trigger language plpgsql as $$
begin
  if not exists (select 1 from version v where v.obligation_id = new.obligation_id and v.epoch = new.epoch
                 and v.commitment = new.commitment and v.tenant = new.tenant) then
    raise exception 'a snapshot repeats the commitment of its version' using errcode = 'restrict_violation';
  end if;
  if (select count(*) from vote b where b.obligation_id = new.obligation_id and b.epoch = new.epoch
      and b.verb = 'approve' and b.commitment = new.commitment and b.person = any(new.voters)) <> cardinality(new.voters) then
    raise exception 'a snapshot needs the votes that it names' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger snapshot_needs_votes before insert on snapshot for each row execute function guard_snapshot();

-- The chain grows when the transaction commits, so that its lock is the last one taken and the shortest held.
create function link_audit() returns trigger language plpgsql as $$
declare
  last_seq  bigint;
  last_hash bytea;
begin
  perform pg_advisory_xact_lock(hashtextextended('audit:' || new.tenant::text, 0));
  select seq, hash into last_seq, last_hash from audit_link where tenant = new.tenant order by seq desc limit 1;
  last_seq := coalesce(last_seq, 0) + 1;
  last_hash := coalesce(last_hash, sha256(convert_to(new.tenant::text, 'UTF8')));
  insert into audit_link (tenant, seq, audit_id, previous, hash)
    values (new.tenant, last_seq, new.id, last_hash, sha256(last_hash || int8send(last_seq) || convert_to(new.entry, 'UTF8')));
  return null;
end $$;
create constraint trigger audit_is_chained after insert on audit deferrable initially deferred for each row execute function link_audit();

create function note_change() returns trigger language plpgsql as $$
begin
  insert into change (tenant, kind, id, version) values (new.tenant, tg_argv[0], new.id,
    case tg_argv[0] when 'obligation' then (to_jsonb(new) ->> 'epoch')::bigint
                    when 'conversation' then (to_jsonb(new) ->> 'context_revision')::bigint else 1 end);
  return null;
end $$;
create trigger obligation_changed   after insert or update on obligation   for each row execute function note_change('obligation');
create trigger conversation_changed after insert or update on conversation for each row execute function note_change('conversation');
create trigger alert_changed        after insert or update on alert        for each row execute function note_change('alert');
create trigger submitted_changed    after insert or update on submitted    for each row execute function note_change('draft');
