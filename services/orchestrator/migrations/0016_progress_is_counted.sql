-- The database counts, not the service: the version before changes keywords too while it runs beside, and counts none.
create function add_to_progress(of_cycles uuid[], states text[], awaiting boolean[], steps int[]) returns void
language sql as $$
    update cycles as c
    set queued            = c.queued + n.queued,
        writing           = c.writing + n.writing,
        publishing        = c.publishing + n.publishing,
        promoting         = c.promoting + n.promoting,
        completed         = c.completed + n.completed,
        refused           = c.refused + n.refused,
        needs_review      = c.needs_review + n.needs_review,
        rejected          = c.rejected + n.rejected,
        failed            = c.failed + n.failed,
        cancelled         = c.cancelled + n.cancelled,
        awaiting_research = c.awaiting_research + n.awaiting_research,
        awaiting_writing  = c.awaiting_writing + n.awaiting_writing,
        ended_at = case when c.queued + n.queued + c.writing + n.writing + c.publishing + n.publishing
                             + c.promoting + n.promoting = 0 then clock_timestamp() end
    from (
        select cycle_id,
               coalesce(sum(step) filter (where state = 'queued'), 0)       as queued,
               coalesce(sum(step) filter (where state = 'writing'), 0)      as writing,
               coalesce(sum(step) filter (where state = 'publishing'), 0)   as publishing,
               coalesce(sum(step) filter (where state = 'promoting'), 0)    as promoting,
               coalesce(sum(step) filter (where state = 'completed'), 0)    as completed,
               coalesce(sum(step) filter (where state = 'refused'), 0)      as refused,
               coalesce(sum(step) filter (where state = 'needs_review'), 0) as needs_review,
               coalesce(sum(step) filter (where state = 'rejected'), 0)     as rejected,
               coalesce(sum(step) filter (where state = 'failed'), 0)       as failed,
               coalesce(sum(step) filter (where state = 'cancelled'), 0)    as cancelled,
               coalesce(sum(step) filter (where state = 'queued' and awaits), 0)  as awaiting_research,
               coalesce(sum(step) filter (where state = 'writing' and awaits), 0) as awaiting_writing
        from unnest(of_cycles, states, awaiting, steps) as moved (cycle_id, state, awaits, step)
        group by cycle_id
    ) as n
    where c.cycle_id = n.cycle_id
$$;

create function count_new_keywords() returns trigger language plpgsql as $$
begin
    perform add_to_progress(array_agg(cycle_id), array_agg(state), array_agg(awaits_turn), array_agg(step))
    from (
        select cycle_id, state, awaits_turn, count(*)::int as step from after_rows group by 1, 2, 3
    ) as moved;
    return null;
end
$$;

create function count_moved_keywords() returns trigger language plpgsql as $$
begin
    perform add_to_progress(array_agg(cycle_id), array_agg(state), array_agg(awaits_turn), array_agg(step))
    from (
        select cycle_id, state, awaits_turn, sum(step)::int as step
        from (
            select cycle_id, state, awaits_turn, 1 as step from after_rows
            union all
            select cycle_id, state, awaits_turn, -1 from before_rows
        ) as steps
        group by 1, 2, 3 having sum(step) <> 0
    ) as moved;
    return null;
end
$$;

-- Keywords are deleted with their cycle only, so that nobody is left to count that. While this is applied nobody changes
-- keywords, or those of that moment would be counted twice or never; whoever only reads them goes on.
create trigger keywords_are_counted after insert on keywords
    referencing new table as after_rows for each statement execute function count_new_keywords();
create trigger moved_keywords_are_counted after update on keywords
    referencing old table as before_rows new table as after_rows for each statement execute function count_moved_keywords();

update cycles as c
set queued = n.queued, writing = n.writing, publishing = n.publishing, promoting = n.promoting, completed = n.completed,
    refused = n.refused, needs_review = n.needs_review, rejected = n.rejected, failed = n.failed, awaiting_research = n.awaiting_research,
    awaiting_writing = n.awaiting_writing,
    ended_at = case when n.queued + n.writing + n.publishing + n.promoting = 0 then n.moved_at end
from (
    select cycle_id,
           count(*) filter (where state = 'queued')       as queued,
           count(*) filter (where state = 'writing')      as writing,
           count(*) filter (where state = 'publishing')   as publishing,
           count(*) filter (where state = 'promoting')    as promoting,
           count(*) filter (where state = 'completed')    as completed,
           count(*) filter (where state = 'refused')      as refused,
           count(*) filter (where state = 'needs_review') as needs_review,
           count(*) filter (where state = 'rejected')     as rejected,
           count(*) filter (where state = 'failed')       as failed,
           count(*) filter (where state = 'queued' and awaits_turn)  as awaiting_research,
           count(*) filter (where state = 'writing' and awaits_turn) as awaiting_writing,
           max(moved_at) as moved_at
    from keywords group by cycle_id
) as n
where c.cycle_id = n.cycle_id;
