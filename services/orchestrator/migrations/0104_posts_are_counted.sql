-- contract: nobody changes keywords while this is applied, or posts of that moment would be counted twice or never. The version before
-- changes keywords through the same triggers, and reads no `posted`.
lock table keywords in share row exclusive mode;

alter table cycles add column posted int not null default 0;
comment on column cycles.posted is 'Posts of its keywords that have an address.';

create function published_posts(posts jsonb) returns int language sql immutable parallel safe as $$
    select case when posts = '[]' then 0 else jsonb_array_length(jsonb_path_query_array(posts, '$[*] ? (@.url != null)')) end
$$;

create function add_to_progress(of_cycles uuid[], states text[], awaiting boolean[], steps int[], posts int[]) returns void
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
        posted            = c.posted + n.posted,
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
               coalesce(sum(step) filter (where state = 'writing' and awaits), 0) as awaiting_writing,
               sum(post)                                                    as posted
        from unnest(of_cycles, states, awaiting, steps, posts) as moved (cycle_id, state, awaits, step, post)
        group by cycle_id
    ) as n
    where c.cycle_id = n.cycle_id
$$;

create or replace function count_new_keywords() returns trigger language plpgsql as $$
begin
    perform add_to_progress(array_agg(cycle_id), array_agg(state), array_agg(awaits_turn), array_agg(step), array_agg(post))
    from (
        select cycle_id, state, awaits_turn, count(*)::int as step, sum(published_posts(posts))::int as post
        from after_rows group by 1, 2, 3
    ) as moved;
    return null;
end
$$;

create or replace function count_moved_keywords() returns trigger language plpgsql as $$
begin
    perform add_to_progress(array_agg(cycle_id), array_agg(state), array_agg(awaits_turn), array_agg(step), array_agg(post))
    from (
        select cycle_id, state, awaits_turn, sum(step)::int as step, sum(step * published_posts(posts))::int as post
        from (
            select cycle_id, state, awaits_turn, posts, 1 as step from after_rows
            union all
            select cycle_id, state, awaits_turn, posts, -1 from before_rows
        ) as steps
        group by 1, 2, 3 having sum(step) <> 0 or sum(step * published_posts(posts)) <> 0
    ) as moved;
    return null;
end
$$;

update cycles as c set posted = n.posted
from (select cycle_id, sum(published_posts(posts)) as posted from keywords where posts <> '[]' group by cycle_id) as n
where c.cycle_id = n.cycle_id;
