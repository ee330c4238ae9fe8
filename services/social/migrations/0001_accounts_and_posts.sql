-- Where a brand may post. The built-in feed is connected by its first post.
create table accounts (
    brand_slug   text        not null check (brand_slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
    channel      text        not null,
    display_name text        not null check (display_name <> ''),
    created_at   timestamptz not null default clock_timestamp(),
    primary key (brand_slug, channel)
);

create table posts (
    post_id    uuid        primary key,
    brand_slug text        not null,
    content_id uuid        not null,
    channel    text        not null,
    title      text        not null check (title <> ''),
    text       text        not null,
    tags       jsonb       not null,  -- ["#PourOverCoffee"]
    link       text,
    drafts     jsonb       not null,  -- [{"channel", "text", "counts", "facets", "api_text"}], how it reads elsewhere
    posted_at  timestamptz not null default clock_timestamp(),
    -- A repeated command finds its post instead of making another.
    unique (content_id, channel),
    foreign key (brand_slug, channel) references accounts
);

create index posts_newest_first on posts (brand_slug, channel, posted_at desc, post_id desc);
