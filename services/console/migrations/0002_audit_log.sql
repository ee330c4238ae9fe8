-- Who has changed what over the API, in the transaction of the change. Rows are added and read; the role that a process runs as may
-- neither change nor delete one. What is old is forgotten by a function of the owner, which forgets nothing younger than 30 days.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

create table audit_log (
    id             bigint      generated always as identity primary key,
    at             timestamptz not null default clock_timestamp(),
    caller         text        not null,
    -- Of the caller's key: its public part, or 'service'.
    key_id         text        not null,
    -- Method and path of the route.
    operation      text        not null,
    path           text        not null,
    -- Where the request came from.
    address        text,
    brand          text,
    correlation_id text,
    -- The fields that were changed.
    before         jsonb,
    after          jsonb
);
create index audit_log_by_age on audit_log (at);
create index audit_log_of_brands on audit_log (brand, id) where brand is not null;
create index audit_log_of_callers on audit_log (caller, id);

create function forget_audit_log(kept interval) returns boolean
    language sql security definer set search_path from current
as $$
    with forgotten as (
        delete from audit_log where ctid = any (array(
            select ctid from audit_log where at < now() - greatest(kept, interval '30 days') limit 5000
        )) returning 1
    )
    select count(*) > 0 from forgotten
$$;
