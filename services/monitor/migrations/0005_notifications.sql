-- Which brand a dead message says it is about; null: none that can be read, or recorded by a version that did not note it.
alter table dead_messages add column brand_slug text;

-- Where people are told of what wants their eye: who gets what, through which account of the gateway.
create table notification_routes (
    name           text        primary key,
    account        text        not null,
    -- A chat, or addresses of mail; empty where the account knows.
    addresses      text[]      not null default '{}',
    -- Of this brand alone; null: the operators', of everything.
    brand_slug     text,
    -- Kinds of notifications; empty: all of them.
    kinds          text[]      not null default '{}',
    -- {begin, end, time_zone}: held back meanwhile, unless it is critical.
    quiet_hours    jsonb,
    -- What is noticed within so many seconds is told in one message.
    group_seconds  int         not null check (group_seconds between 0 and 86400),
    -- {weekday, at, time_zone} of the weekly summary; and when the next one is due.
    summary        jsonb,
    summary_due_at timestamptz,
    -- Since when messages do not arrive, why, and when it is tried again.
    failing_since  timestamptz,
    problem        text,
    try_again_at   timestamptz,
    created_at     timestamptz not null default clock_timestamp(),
    updated_at     timestamptz not null default clock_timestamp(),
    check ((summary is null) = (summary_due_at is null)),
    check ((failing_since is null) = (try_again_at is null))
);
create index notification_routes_of_brands on notification_routes (brand_slug) where brand_slug is not null;

-- What is looked at, by whichever replica comes first.
create table notification_sources (
    name          text        primary key,
    look_at       timestamptz not null default clock_timestamp(),
    failing_since timestamptz,
    problem       text
);

-- What is so, or has happened, that somebody may want to know.
create table notifications (
    id              uuid        primary key,
    source          text        not null,
    kind            text        not null,
    brand_slug      text,
    -- With kind and brand, what makes two of them the same.
    key             text        not null,
    severity        text        not null check (severity in ('info', 'warning', 'critical')),
    title           text        not null,
    detail          text        not null,
    -- What to look at it with: a command, and an address where there is one.
    command         text        not null,
    link            text,
    -- How many things it stands for; null: it is one.
    count           int,
    -- It has happened and is told once; otherwise it is so until it is seen not to be.
    is_event        boolean     not null,
    noticed_at      timestamptz not null default clock_timestamp(),
    changed_at      timestamptz not null default clock_timestamp(),
    resolved_at     timestamptz,
    acknowledged_at timestamptz,
    acknowledged_by text
);
create unique index notifications_standing on notifications (kind, brand_slug, key) nulls not distinct where resolved_at is null;
create index notifications_newest on notifications (noticed_at desc, id desc);
create index notifications_of_brands on notifications (brand_slug, noticed_at) where brand_slug is not null;

-- What is sent: composed once, and the same in every attempt.
create table notification_messages (
    id          uuid        primary key,
    route       text        not null,
    brand_slug  text,
    purpose     text        not null check (purpose in ('news', 'summary', 'test')),
    -- {title, paragraphs, items, more, told}; null: a summary that has not been put together.
    content     jsonb,
    state       text        not null check (state in ('waiting', 'sending', 'sent', 'failed')),
    attempts    int         not null default 0,
    due_at      timestamptz not null default clock_timestamp(),
    -- Whoever sends it has until then.
    lease_until timestamptz,
    problem     text,
    made_at     timestamptz not null default clock_timestamp(),
    ended_at    timestamptz,
    check ((state = 'sending') = (lease_until is not null)),
    check ((state in ('sent', 'failed')) = (ended_at is not null))
);
create index notification_messages_due on notification_messages (due_at) where state in ('waiting', 'sending');
create index notification_messages_newest on notification_messages (made_at desc, id desc);
create index notification_messages_of_routes on notification_messages (route, made_at desc);

-- Which route is to be told of what, and what it was told last.
create table notification_tellings (
    notification_id  uuid        not null references notifications on delete cascade,
    route            text        not null references notification_routes on delete cascade,
    -- The message that is on its way with it.
    message_id       uuid        references notification_messages on delete set null,
    told_count       int,
    told_severity    text,
    told_at          timestamptz,
    -- There will be nothing more to tell of it.
    closed_at        timestamptz,
    created_at       timestamptz not null default clock_timestamp(),
    primary key (notification_id, route)
);
create index notification_tellings_open on notification_tellings (route) where closed_at is null;
create index notification_tellings_on_their_way on notification_tellings (message_id) where message_id is not null;
