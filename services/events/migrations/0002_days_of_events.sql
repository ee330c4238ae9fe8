-- Partitions of events are made and dropped by the owner of the tables, for a role that owns nothing.
--
-- The tables are looked up in the schema of this migration and never in the caller's: with pg_temp named, it comes last.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Makes the partitions of today and the next three days, and forgets the days that are over for so many days.
create function maintain_events(kept_days int) returns void
    language plpgsql security definer set search_path from current set lock_timeout = '3s'
as $$
declare
    today constant date := (now() at time zone 'utc')::date;
    day date;
    partition text;
    early events_default[];
    last_position bigint;
begin
    if kept_days < 1 then
        raise 'events are kept for a day at least';
    end if;
    -- One replica at a time; the others find nothing left to do.
    perform pg_advisory_xact_lock(hashtext('events partitions'));

    for day in select today + ahead from generate_series(0, 3) as ahead loop
        partition := 'events_' || to_char(day, 'YYYYMMDD');
        continue when to_regclass(partition) is not null;
        -- Of a process that ran on without this for days; they must move, or the new partition is refused.
        with moved as (
            delete from events_default as event
            where recorded_at >= day::timestamp at time zone 'utc' and recorded_at < (day + 1)::timestamp at time zone 'utc'
            returning event
        )
        select array_agg(event) into early from moved;
        execute format('create table %I partition of events for values from (%L) to (%L)', partition,
                       day::timestamp at time zone 'utc', (day + 1)::timestamp at time zone 'utc');
        insert into events select * from unnest(early);
    end loop;

    for partition in
        select relname from pg_inherits join pg_class on oid = inhrelid
        where inhparent = 'events'::regclass and relname ~ '^events_[0-9]{8}$'
          and relname < 'events_' || to_char(today - kept_days, 'YYYYMMDD')
        order by relname
    loop
        execute format('select max(position) from %I', partition) into last_position;
        execute format('drop table %I', partition);
        update log_head set forgotten = greatest(forgotten, coalesce(last_position, 0));
    end loop;

    with removed as (
        delete from events_default
        where recorded_at < (today - kept_days)::timestamp at time zone 'utc' returning position
    )
    update log_head set forgotten = greatest(forgotten, coalesce((select max(position) from removed), 0));
end
$$;
select maintain_events(30);
