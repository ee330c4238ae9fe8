-- Where a brand's articles are published beside its target, which is the home of each.
alter table brands add column further_targets text[] not null default '{}';

-- How it stands with an article at such a target: asked for, and what was answered.
create table placements (
    content_id   uuid        not null references content on delete cascade,
    target       text        not null,
    -- 'withdrawn': asked to be, which is answered only if it fails.
    state        text        not null check (state in ('asked', 'published', 'failed', 'withdrawn')),
    url          text,
    reason       text,
    -- The state of the article that its home showed when this was asked for.
    as_of        timestamptz,
    asked_at     timestamptz not null default clock_timestamp(),
    answered_at  timestamptz,
    primary key (content_id, target)
);
