-- How many keywords of a cycle are in which state, and when the last of them ended; the next migration counts them.
alter table cycles
    add column queued            int not null default 0,
    add column writing           int not null default 0,
    add column publishing        int not null default 0,
    add column promoting         int not null default 0,
    add column completed         int not null default 0,
    add column refused           int not null default 0,
    add column needs_review      int not null default 0,
    add column rejected          int not null default 0,
    add column failed            int not null default 0,
    add column cancelled         int not null default 0,
    -- Of those queued and of those writing: not sent yet, for their brand has no room.
    add column awaiting_research int not null default 0,
    add column awaiting_writing  int not null default 0,
    add column ended_at          timestamptz,
    add column paused_at         timestamptz,
    add column cancelled_at      timestamptz;

-- Which keyword of a brand goes first: 0 high, 1 normal, 2 low.
alter table keywords
    add column rank smallint not null default 1,
    -- Its cycle was cancelled before it was written.
    add column cancelled boolean not null default false;

-- How many keywords of a brand may be begun in a day, evenly spread, and when the latest was.
alter table brands
    add column articles_per_day int,
    add column released_at      timestamptz,
    add column paused_at        timestamptz;
