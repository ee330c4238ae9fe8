-- Posts that a person sees before they go out. What is posted is in posts, as ever; no reader is shown what is here alone.
create table pending_posts (
    post_id        uuid        primary key,
    -- The order in which they began to wait.
    number         bigint      generated always as identity unique,
    brand_slug     text        not null,
    display_name   text        not null,
    content_id     uuid        not null,
    channel        text        not null,
    -- What the command called it: that is how it is answered.
    asked_as       text[]      not null,
    correlation_id text,
    title          text        not null check (title <> ''),
    text           text        not null,
    tags           jsonb       not null,
    link           text,
    drafts         jsonb       not null,
    version        int         not null default 1,
    state          text        not null default 'waiting' check (state in ('waiting', 'posted', 'rejected')),
    -- Approved for this time; null: it waits for a person, or has ended.
    publish_at     timestamptz,
    since          timestamptz not null default clock_timestamp(),
    unique (content_id, channel)
);
create index pending_posts_open on pending_posts (number) where state = 'waiting';
create index pending_posts_due on pending_posts (publish_at) where state = 'waiting' and publish_at is not null;
create index pending_posts_of_brands on pending_posts (brand_slug, number);

-- All that was decided, the latest last; of an edit, what the text was made into.
create table post_decisions (
    decision_id bigint      generated always as identity primary key,
    post_id     uuid        not null references pending_posts on delete cascade,
    version     int         not null,
    decision    text        not null check (decision in ('approved', 'scheduled', 'called_off', 'edited', 'rejected')),
    comment     text        not null,
    text        text,
    made_by     text        not null,
    made_at     timestamptz not null default clock_timestamp()
);
create index post_decisions_by_post on post_decisions (post_id, decision_id);
