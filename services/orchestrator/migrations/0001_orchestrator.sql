create table brands (
    slug        text        primary key check (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and length(slug) <= 63),
    name        text        not null,
    description text        not null,
    language    text        not null,
    channels    text[]      not null,
    target      text        not null,
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now()
);

create table cycles (
    cycle_id        uuid        primary key,
    correlation_id  text        not null unique,
    brand_slug      text        not null references brands,
    priority        text        not null check (priority in ('high', 'normal', 'low')),
    -- What the brand asked for when the cycle began: a later change of the brand must not move the goal posts.
    target          text        not null,
    channels        text[]      not null,
    idempotency_key text,
    request_digest  bytea       not null,
    created_at      timestamptz not null default now(),
    unique (brand_slug, idempotency_key)
);
-- The clean-up looks for the oldest.
create index cycles_by_age on cycles (created_at);

create table keywords (
    cycle_id      uuid        not null references cycles on delete cascade,
    position      int         not null,
    keyword       text        not null,
    -- Derived from the facts below by domain.py; stored because counting and reaping need it.
    state         text        not null default 'queued'
                  check (state in ('queued', 'writing', 'publishing', 'promoting', 'completed', 'refused', 'failed')),
    reason        text,
    research_id   uuid,
    content_id    uuid,
    generated     boolean     not null default false,
    published_url text,
    promoted      boolean     not null default false,
    setbacks      jsonb       not null default '{}',
    posts         jsonb       not null default '[]',
    moved_at      timestamptz not null default now(),
    primary key (cycle_id, position),
    unique (cycle_id, keyword)
);
create unique index keywords_by_content on keywords (content_id) where content_id is not null;
-- The reaper's view: those still on their way, the longest unmoved first.
create index keywords_under_way on keywords (moved_at)
    where state in ('queued', 'writing', 'publishing', 'promoting');

create table content (
    content_id       uuid        primary key,
    brand_slug       text        not null references brands,
    keyword          text        not null,
    research_id      uuid        not null,
    slug             text        not null,
    title            text        not null,
    meta_description text        not null,
    body_markdown    text        not null,
    word_count       int         not null,
    key_points       text[]      not null,
    label            text,
    sources          jsonb       not null,
    published_url    text,
    created_at       timestamptz not null default now(),
    updated_at       timestamptz not null default now(),
    -- Two articles of a brand never fight over one address.
    unique (brand_slug, slug)
);

create table workflow_steps (
    workflow_id uuid        not null,
    step        text        not null,
    result      jsonb       not null,
    finished_at timestamptz not null default now(),
    primary key (workflow_id, step)
);
create index workflow_steps_by_age on workflow_steps (finished_at);
