-- The newest event of each brand, so that nobody looks through the log for brands in which nothing happens.
create table brand_heads (
    brand_slug text   primary key,
    -- No event of the brand has a higher one. Events up to here may be gone.
    position   bigint not null
);

-- The database notes them, not the service: the version before stores events, too, while it runs beside.
create function note_newest_events() returns trigger language plpgsql as $$
begin
    -- Whoever stores events has locked log_head, so that nobody else is here. Events that are only moved to another partition
    -- are noted already, and lock nothing.
    insert into brand_heads (brand_slug, position)
    select n.brand_slug, n.position
    from (select brand_slug, max(position) as position from after_rows where brand_slug is not null group by brand_slug) as n
    where not exists (select from brand_heads as b where b.brand_slug = n.brand_slug and b.position >= n.position)
    on conflict (brand_slug) do update set position = excluded.position;
    return null;
end
$$;
create trigger newest_events_are_noted after insert on events
    referencing new table as after_rows for each statement execute function note_newest_events();

-- By the index, one step for each brand. The newest place of the log is high enough for every brand.
with recursive brands (slug) as (
    (select brand_slug from events where brand_slug is not null order by brand_slug limit 1)
    union all
    select (select e.brand_slug from events as e where e.brand_slug > brands.slug order by e.brand_slug limit 1)
    from brands where brands.slug is not null
)
insert into brand_heads (brand_slug, position)
select brands.slug, log_head.position from brands, log_head where brands.slug is not null;
