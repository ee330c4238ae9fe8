-- Whether a brand wants to know how its posts on a channel are received.
alter table channel_rules add column reach boolean not null default false;

-- When it is asked next how a post is received, and what came of it last.
create table reach_looks (
    post_id    uuid        primary key references channel_posts on delete cascade,
    brand_slug text        not null,
    account    text        not null,
    -- Moves on by a lease while somebody is at it; null: not asked any more.
    due_at     timestamptz,
    -- In a row.
    failures   int         not null default 0,
    -- Why the last one told nothing, for programs and for people.
    reason     text        not null default '',
    detail     text        not null default '',
    changed_at timestamptz not null default clock_timestamp()
);
create index reach_looks_due on reach_looks (due_at) where due_at is not null;
create index reach_looks_resting on reach_looks (brand_slug, account) where reason = 'not_told';

-- What was told: how much there was until then. Null: the platform does not say.
create table reach (
    post_id  uuid    not null references channel_posts on delete cascade,
    -- In UTC.
    day      date    not null,
    likes    int,
    shares   int,
    replies  int,
    primary key (post_id, day)
);
