-- One article for each subject. Of the keywords that name the same one, one at a time has it in hand: whoever is here.
create table subjects (
    brand_slug text        not null references brands,
    -- As orchestrator.subjects folds the keyword.
    key        text        not null,
    cycle_id   uuid        not null,
    position   int         not null,
    -- How many keywords that had it in hand have failed while others waited for them.
    tries      int         not null default 0,
    claimed_at timestamptz not null default clock_timestamp(),
    primary key (brand_slug, key),
    foreign key (cycle_id, position) references keywords on delete cascade
);
create index subjects_by_holder on subjects (cycle_id, position);

-- The subject of an article; null: of one that the version before stored, until somebody asks.
alter table content add column subject text;

alter table keywords
    -- Known once its turn has come.
    add column subject text,
    -- It waits for another keyword on its subject.
    add column follows boolean not null default false,
    -- The article that stands on its subject, so that it needs none of its own, and what its reason says of that.
    add column standing_id  uuid,
    add column standing_why text;

-- Of those queued: how many wait for another keyword on their subject.
alter table cycles add column following int not null default 0;

create function count_followers() returns trigger language plpgsql as $$
begin
    update cycles as c set following = c.following + n.following
    from (
        select cycle_id, sum(step) as following
        from (
            select cycle_id, 1 as step from after_rows where follows and state = 'queued'
            union all
            select cycle_id, -1 from before_rows where follows and state = 'queued'
        ) as steps
        group by cycle_id having sum(step) <> 0
    ) as n
    where c.cycle_id = n.cycle_id;
    return null;
end
$$;
create trigger followers_are_counted after update on keywords
    referencing old table as before_rows new table as after_rows for each statement execute function count_followers();
