-- What was found when a brand was looked over, the newest of each brand.
create table audits (
    audit_id   uuid        primary key,
    brand_slug text        not null references brands,
    -- 'schedule', or whoever asked for it.
    made_by    text        not null,
    made_at    timestamptz not null default now(),
    -- [{kind, subject, id, address, since, advice}, …]
    findings   jsonb       not null,
    -- How many of each kind: {kind: count}.
    counts     jsonb       not null,
    -- Kinds of which there are more than are told.
    cut        text[]      not null
);
create index audits_of_brands on audits (brand_slug, audit_id);

-- Days after which an article's research is old; null: by default.
alter table brands add column stale_after_days int;

-- What a schedule does: hands in keywords, or looks its brand over.
alter table schedules add column kind text not null default 'research';
alter table schedules
    add constraint schedules_kind_known check (kind in ('research', 'audit')) not valid;

alter table firings add column audit_id uuid;
-- The version before knows keywords alone, and would begin a cycle of none for an audit: so its firing fails, and is left to this version.
alter table firings
    add constraint firings_do_something check (keywords > 0 or audit_id is not null or failure is not null) not valid;
