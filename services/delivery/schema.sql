-- delivery: who may send what, what was tried, what came of it.
--
-- Laws
-- - One claim per decision, for ever: a decision that was accepted, failed, cancelled or left uncertain is burnt.
-- - One claim per obligation is active (claimed or dispatching) at a time; the second one loses.
-- - One call per number is under way at a time.
-- - A claim moves only along the table in `claim_moves`, and an attempt number is used once.

create table claim (
  decision_id          uuid        primary key,
  tenant               uuid        not null,
  obligation_id        uuid        not null,
  conversation_id      uuid        not null,
  contact_id           uuid        not null,
  channel_id           uuid        not null,
  epoch                bigint      not null,
  state                text        not null default 'claimed'
                       check (state in ('claimed', 'lapsed', 'dispatching', 'accepted', 'failed', 'uncertain', 'cancelled')),
  code                 text        not null default '',
  detail               text        not null default '',
  -- the SendCommand as it came: verified again before the call
  command              bytea       not null,
  chat                 text        not null,
  text_digest          text        not null,
  decided_at           timestamptz not null,
  send_by              timestamptz not null,
  clearance_expires_at timestamptz not null,
  claimed_at           timestamptz not null default clock_timestamp(),
  -- the id reserved at the channel before the call, where the channel can
  message_id           text,
  attempts             integer     not null default 0,
  -- fencing: only the call that carries this token belongs to this dispatch
  token                uuid,
  begun_at             timestamptz,
  call_before          timestamptz,
  -- the channel's id as it came, and the part of it that echoes and acks share
  provider_id          text,
  stanza_id            text,
  level                text        check (level in ('pending', 'sent', 'delivered', 'read', 'played', 'failed')),
  evidence             text        not null default '',
  -- a lookup said that the channel does not have it: for the person who settles, nothing is re-sent
  absent_at            timestamptz,
  settled_at           timestamptz,
  unique (obligation_id, decision_id),
  check (state <> 'dispatching' or (token is not null and begun_at is not null and call_before is not null)),
  check (state <> 'accepted' or (provider_id is not null and stanza_id is not null and settled_at is not null)),
  check (state not in ('uncertain', 'failed') or code <> '')
);
create unique index claim_one_active_per_obligation on claim (obligation_id) where state in ('claimed', 'dispatching');
create unique index claim_one_call_per_number on claim (channel_id) where state = 'dispatching';
create unique index claim_by_stanza on claim (channel_id, stanza_id) where stanza_id is not null;
create index claim_by_message on claim (channel_id, message_id) where message_id is not null;
create index claim_by_text on claim (channel_id, text_digest) where state in ('dispatching', 'uncertain');
create index claim_waiting on claim (conversation_id) where state in ('claimed', 'lapsed');
create index claim_waiting_contact on claim (contact_id) where state in ('claimed', 'lapsed');
create index claim_uncertain on claim (settled_at) where state = 'uncertain';

create function claim_moves() returns trigger language plpgsql as $$
begin
  if new.state is distinct from old.state and (old.state, new.state) not in (
    -- was            becomes
    ('claimed',      'dispatching'),  -- begin-dispatch
    ('claimed',      'cancelled'),    -- revoked, taken over, too late: nothing was sent
    ('claimed',      'lapsed'),       -- the clearance ran out while waiting: nothing was sent
    ('lapsed',       'claimed'),      -- a fresh clearance for the same decision
    ('lapsed',       'cancelled'),
    ('dispatching',  'claimed'),      -- the channel proved that it took nothing
    ('dispatching',  'accepted'),
    ('dispatching',  'failed'),
    ('dispatching',  'uncertain'),
    ('uncertain',    'accepted'),     -- with evidence
    ('uncertain',    'failed')        -- with evidence
  ) then
    raise exception 'claim % cannot move from % to %', old.decision_id, old.state, new.state using errcode = '23514';
  end if;
  if old.stanza_id is not null and (new.stanza_id, new.provider_id) is distinct from (old.stanza_id, old.provider_id) then
    raise exception 'claim % already has another coordinate', old.decision_id using errcode = '23514';
  end if;
  if (new.decision_id, new.obligation_id, new.epoch, new.chat, new.text_digest)
     is distinct from (old.decision_id, old.obligation_id, old.epoch, old.chat, old.text_digest) then
    raise exception 'claim % is about one text for one chat', old.decision_id using errcode = '23514';
  end if;
  return new;
end $$;
create trigger claim_moves before update on claim for each row execute function claim_moves();

-- A row is committed before the channel is called: a row without an end means "perhaps called".
create table attempt (
  decision_id uuid        not null references claim,
  number      integer     not null,
  tenant      uuid        not null,
  token       uuid        not null,
  began_at    timestamptz not null,
  ended_at    timestamptz,
  result      text        not null default '' check (result in ('', 'accepted', 'failed', 'try_again', 'uncertain')),
  code        text        not null default '',
  detail      text        not null default '',
  primary key (decision_id, number)
);

-- Seal 3, written in the transaction that accepts the claim.
create table receipt (
  decision_id uuid        primary key references claim,
  tenant      uuid        not null,
  provider_id text        not null,
  envelope    jsonb       not null,
  accepted_at timestamptz not null
);

-- Commands that delivery would not even try, as they came.
create table refused_command (
  id          uuid        primary key,
  tenant      uuid        not null,
  decision_id uuid        not null,
  code        text        not null,
  detail      text        not null,
  command     bytea       not null,
  at          timestamptz not null
);

-- ------------------------------------------------------------------------------ what was heard (others' truth)

create table conversation_heard (
  conversation_id  uuid    primary key,
  tenant           uuid    not null,
  context_revision bigint  not null,
  has_inbound      boolean not null
);

create table conversation_owner (
  conversation_id uuid        primary key,
  tenant          uuid        not null,
  owner           text        not null check (owner in ('agent', 'person')),
  version         bigint      not null,
  at              timestamptz not null
);

create table obligation_epoch (
  obligation_id uuid   primary key,
  tenant        uuid   not null,
  epoch         bigint not null
);

create table ended_approval (
  id            uuid        primary key,
  tenant        uuid        not null,
  obligation_id uuid        not null,
  epoch         bigint      not null,
  decision_id   uuid,
  how           text        not null,
  at            timestamptz not null
);
create index ended_approval_by_obligation on ended_approval (obligation_id);

create table contact_consent (
  contact_id uuid        primary key,
  tenant     uuid        not null,
  state      text        not null,
  at         timestamptz not null
);

create table channel_state (
  channel_id                  uuid        primary key,
  tenant                      uuid        not null,
  status                      text        not null default '',
  is_ready                    boolean     not null default true,
  -- after an answer that asks to wait
  not_before                  timestamptz,
  first_contacts_paused_until timestamptz
);

-- News about messages that no claim is known to own yet: acks and echoes often come before the send's own answer.
create table early_report (
  channel_id  uuid        not null,
  provider_id text        not null,
  tenant      uuid        not null,
  level       text        not null,
  error_code  text        not null default '',
  heard_at    timestamptz not null,
  primary key (channel_id, provider_id)
);
create table early_echo (
  channel_id  uuid        not null,
  provider_id text        not null,
  tenant      uuid        not null,
  text_digest text        not null,
  at          timestamptz not null,
  heard_at    timestamptz not null,
  primary key (channel_id, provider_id)
);
create index early_echo_by_text on early_echo (channel_id, text_digest);
