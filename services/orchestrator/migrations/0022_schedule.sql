-- What a brand does by the clock. A row is due at due_at; try_at is later only while a firing that failed is tried again.
create table schedules (
    schedule_id uuid        primary key,
    brand_slug  text        not null references brands,
    name        text        not null,
    keywords    text[]      not null,
    -- How many of them a firing hands in, from position on; null: all of them, every time.
    take        int,
    position    int         not null default 0,
    priority    text        not null check (priority in ('high', 'normal', 'low')),
    -- Null: due once.
    cron        text,
    time_zone   text        not null,
    state       text        not null check (state in ('active', 'paused', 'parked', 'ended')),
    due_at      timestamptz not null,
    try_at      timestamptz not null,
    failures    int         not null default 0,
    reason      text,
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now(),
    unique (brand_slug, name)
);
create index schedules_due on schedules (try_at) where state = 'active';

-- What became of each due time. The key is the last thing that keeps one from firing twice.
create table firings (
    schedule_id uuid        not null references schedules on delete cascade,
    due_at      timestamptz not null,
    at          timestamptz not null default now(),
    cycle_id    uuid,
    keywords    int         not null,
    -- Due times that went by unseen and were caught up by this firing.
    missed      int         not null default 0,
    -- Why it was given up; null: it has fired.
    failure     text,
    primary key (schedule_id, due_at)
);
create index firings_by_age on firings (at);
