-- contract: a cycle has not ended while one of its drafts waits. The version before counts by this function too, and reads `ended_at` only to
-- find what it may delete, tell of or cancel: all of that is right for a cycle that goes on.
-- Meanwhile nobody changes keywords, or a cycle of that moment would keep the end that the function before gave it.
lock table keywords in share row exclusive mode;

create or replace function add_to_progress(of_cycles uuid[], states text[], awaiting boolean[], steps int[]) returns void
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
                             + c.promoting + n.promoting + c.needs_review + n.needs_review = 0 then clock_timestamp() end
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

update cycles set ended_at = null where ended_at is not null and needs_review > 0;
