-- generated from contracts/topology.py by `python -m contracts`; do not edit
-- ingest: the owner migrates, bus sees all tenants' rows of this schema, web one tenant's
do $$ begin
  if not exists (select from pg_roles where rolname = 'ingest_owner') then create role ingest_owner login; end if;
  if not exists (select from pg_roles where rolname = 'ingest_bus') then create role ingest_bus login; end if;
  if not exists (select from pg_roles where rolname = 'ingest_web') then create role ingest_web login; end if;
end $$;
create schema if not exists ingest authorization ingest_owner;
revoke all on schema ingest from public;
alter role ingest_owner set search_path = ingest;
alter role ingest_bus set search_path = ingest;
alter role ingest_web set search_path = ingest;
-- conversador: the owner migrates, bus sees all tenants' rows of this schema, web one tenant's
do $$ begin
  if not exists (select from pg_roles where rolname = 'conversador_owner') then create role conversador_owner login; end if;
  if not exists (select from pg_roles where rolname = 'conversador_bus') then create role conversador_bus login; end if;
  if not exists (select from pg_roles where rolname = 'conversador_web') then create role conversador_web login; end if;
end $$;
create schema if not exists conversador authorization conversador_owner;
revoke all on schema conversador from public;
alter role conversador_owner set search_path = conversador;
alter role conversador_bus set search_path = conversador;
alter role conversador_web set search_path = conversador;
-- guardrails: the owner migrates, bus sees all tenants' rows of this schema, web one tenant's
do $$ begin
  if not exists (select from pg_roles where rolname = 'guardrails_owner') then create role guardrails_owner login; end if;
  if not exists (select from pg_roles where rolname = 'guardrails_bus') then create role guardrails_bus login; end if;
  if not exists (select from pg_roles where rolname = 'guardrails_web') then create role guardrails_web login; end if;
end $$;
create schema if not exists guardrails authorization guardrails_owner;
revoke all on schema guardrails from public;
alter role guardrails_owner set search_path = guardrails;
alter role guardrails_bus set search_path = guardrails;
alter role guardrails_web set search_path = guardrails;
-- approval: the owner migrates, bus sees all tenants' rows of this schema, web one tenant's
do $$ begin
  if not exists (select from pg_roles where rolname = 'approval_owner') then create role approval_owner login; end if;
  if not exists (select from pg_roles where rolname = 'approval_bus') then create role approval_bus login; end if;
  if not exists (select from pg_roles where rolname = 'approval_web') then create role approval_web login; end if;
end $$;
create schema if not exists approval authorization approval_owner;
revoke all on schema approval from public;
alter role approval_owner set search_path = approval;
alter role approval_bus set search_path = approval;
alter role approval_web set search_path = approval;
-- delivery: the owner migrates, bus sees all tenants' rows of this schema, web one tenant's
do $$ begin
  if not exists (select from pg_roles where rolname = 'delivery_owner') then create role delivery_owner login; end if;
  if not exists (select from pg_roles where rolname = 'delivery_bus') then create role delivery_bus login; end if;
  if not exists (select from pg_roles where rolname = 'delivery_web') then create role delivery_web login; end if;
end $$;
create schema if not exists delivery authorization delivery_owner;
revoke all on schema delivery from public;
alter role delivery_owner set search_path = delivery;
alter role delivery_bus set search_path = delivery;
alter role delivery_web set search_path = delivery;
-- operator: the owner migrates, bus sees all tenants' rows of this schema, web one tenant's
do $$ begin
  if not exists (select from pg_roles where rolname = 'operator_owner') then create role operator_owner login; end if;
  if not exists (select from pg_roles where rolname = 'operator_bus') then create role operator_bus login; end if;
  if not exists (select from pg_roles where rolname = 'operator_web') then create role operator_web login; end if;
end $$;
create schema if not exists operator authorization operator_owner;
revoke all on schema operator from public;
alter role operator_owner set search_path = operator;
alter role operator_bus set search_path = operator;
alter role operator_web set search_path = operator;
