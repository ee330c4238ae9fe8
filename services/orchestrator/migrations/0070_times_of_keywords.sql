-- Who handed a cycle in: the name of the key, or what of the brand's own did it. Null: a version before has begun it.
alter table cycles add column submitted_by text;

-- When what happened to a keyword, in UTC: {"research_asked": …, "researched": …, "writing_asked": …, "published": …, "ended": …,
-- "posts": {platform: …}}. What is not there has not happened, or happened before this was kept.
alter table keywords add column times jsonb not null default '{}';

-- By a trigger, because many statements move keywords, and so do replicas of the version before.
create function note_times_of_keyword() returns trigger language plpgsql as $$
declare
    moment constant text := to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
    ends constant text[] := '{completed,refused,rejected,failed,cancelled}';
    posted jsonb;
begin
    if new.state = 'queued' and old.state = 'queued' and old.awaits_turn and not new.awaits_turn and not new.follows then
        new.times := new.times || jsonb_build_object('research_asked', moment);
    end if;
    if old.research_id is null and new.research_id is not null then
        new.times := new.times || jsonb_build_object('researched', moment);
    end if;
    if new.state = 'writing' and not new.awaits_turn and (old.state <> 'writing' or old.awaits_turn) then
        new.times := new.times || jsonb_build_object('writing_asked', moment);
    end if;
    if old.published_url is null and new.published_url is not null then
        new.times := new.times || jsonb_build_object('published', moment);
    end if;
    if old.posts is distinct from new.posts then
        select jsonb_object_agg(post ->> 'platform', moment) into posted
        from jsonb_array_elements(new.posts) as post
        where post ->> 'url' is not null and not exists (
            select from jsonb_array_elements(old.posts) as before
            where before ->> 'platform' = post ->> 'platform' and before ->> 'url' is not null);
        if posted is not null then
            new.times := jsonb_set(new.times, '{posts}', coalesce(new.times -> 'posts', '{}') || posted);
        end if;
    end if;
    if old.state is distinct from new.state then
        new.times := new.times - 'ended'
            || case when new.state = any (ends) then jsonb_build_object('ended', moment) else '{}' end;
    end if;
    return new;
end
$$;

create trigger times_of_keywords before update on keywords for each row
    when (old.state is distinct from new.state or old.awaits_turn is distinct from new.awaits_turn
          or old.research_id is distinct from new.research_id or old.published_url is distinct from new.published_url
          or old.posts is distinct from new.posts)
    execute function note_times_of_keyword();
