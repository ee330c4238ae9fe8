-- Where short links lead: one for each article, to wherever it is at home.
create table short_links (
    code       text        primary key check (code ~ '^[a-z2-7]{10}$'),
    content_id uuid        not null unique,
    brand_slug text        not null,
    -- Its home: `site`, whose pages are in `pages`, or one of `publications`.
    target     text        not null,
    -- Of an article that has no page here.
    title      text,
    made_at    timestamptz not null default clock_timestamp()
);
create index short_links_of_brands on short_links (brand_slug);

-- Which post a mark behind a short link is.
create table link_marks (
    content_id uuid not null references short_links (content_id) on delete cascade,
    mark       text not null check (mark ~ '^[a-z2-7]{5}$'),
    post_id    uuid not null,
    channel    text not null,
    account    text not null,
    primary key (content_id, mark)
);

-- How often each short link was followed on each day (UTC), by browsers that do not say they are robots. The mark is empty where it is
-- of no post that is known. Of who followed it, nothing is kept.
create table link_clicks (
    content_id uuid    not null references short_links (content_id) on delete cascade,
    mark       text    not null,
    day        date    not null,
    clicks     integer not null check (clicks > 0),
    primary key (content_id, mark, day)
);
