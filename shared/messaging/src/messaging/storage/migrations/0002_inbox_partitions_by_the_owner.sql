-- Partitions of the inbox are made and dropped by the owner of the tables, for a role that owns nothing: it may call this
-- and choose nothing. Seven days back, so that a late duplicate is still found, and three ahead.
--
-- The tables are looked up in the schema of this migration and never in the caller's: with pg_temp named, it comes last.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

create function maintain_processed_events() returns void
    language plpgsql security definer set search_path from current set lock_timeout = '3s'
as $$
declare
    today constant date := (now() at time zone 'utc')::date;
    day date;
    partition text;
    early processed_events_default[];
begin
    -- One replica at a time; the others find nothing left to do.
    perform pg_advisory_xact_lock(hashtext('processed_events partitions'));

    for day in select today + ahead from generate_series(-7, 3) as ahead loop
        partition := 'processed_events_' || to_char(day, 'YYYYMMDD');
        continue when to_regclass(partition) is not null;
        -- Messages of senders whose clock runs ahead may sit in the default partition already; they must move, or the
        -- new partition is refused.
        with moved as (
            delete from processed_events_default as event
            where event_id >= first_uuidv7(day) and event_id < first_uuidv7(day + 1)
            returning event
        )
        select array_agg(event) into early from moved;
        execute format('create table %I partition of processed_events for values from (%L) to (%L)',
                       partition, first_uuidv7(day), first_uuidv7(day + 1));
        insert into processed_events select * from unnest(early);
    end loop;

    for partition in
        select relname from pg_inherits join pg_class on oid = inhrelid
        where inhparent = 'processed_events'::regclass and relname ~ '^processed_events_[0-9]{8}$'
          and relname < 'processed_events_' || to_char(today - 7, 'YYYYMMDD')
    loop
        execute format('drop table %I', partition);
    end loop;

    delete from processed_events_default where processed_at < now() - interval '7 days';
end
$$;

-- The smallest UUIDv7 of a day (UTC): its first millisecond, and zeros.
create function first_uuidv7(day date) returns uuid
    language sql immutable parallel safe strict
    return rpad(lpad(to_hex((extract(epoch from day) * 1000)::bigint), 12, '0'), 32, '0')::uuid;
