-- Who may sign in to a service's pages, and who has. In the schema of every service that has pages.

-- People as the identity provider last told of them, or, on a laptop, as the people file does.
create table person (
  tenant    uuid        not null,
  email     text        not null check (email = lower(email) and email <> ''),
  name      text        not null,
  roles     text[]      not null default '{}',
  language  text        not null default 'pt-BR',
  is_active boolean     not null default true,
  -- the provider's own name for the account, which never changes; an address can come to belong to somebody else
  subject   text,
  updated_at timestamptz not null default clock_timestamp(),
  primary key (tenant, email),
  unique (tenant, subject)
);

-- A browser's session: only the hash of what its cookie holds.
create table session (
  tenant       uuid        not null,
  id_hash      bytea       primary key,
  email        text        not null,
  csrf         text        not null,
  is_token     boolean     not null default false,
  -- when the person last proved who they are, and how strongly, as the provider said; null where it did not say
  signed_in_at timestamptz,
  acr          text        not null default '',
  -- shown to the provider when the session ends, so that it ends its own without asking
  id_token     text        not null default '',
  seen_at      timestamptz not null default clock_timestamp(),
  created_at   timestamptz not null default clock_timestamp(),
  expires_at   timestamptz not null,
  foreign key (tenant, email) references person (tenant, email)
);

