-- A brand's site. The row is also the lock under which a new page of the brand takes its address.
create table sites (
    brand_slug  text primary key check (brand_slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
    name        text not null check (name <> ''),
    description text not null,
    language    text not null,
    created_at  timestamptz not null default clock_timestamp(),
    -- Anything a visitor can see on the site last changed then: the Last-Modified of all its pages.
    changed_at  timestamptz not null default clock_timestamp()
);

create table pages (
    content_id         uuid primary key,
    brand_slug         text not null references sites (brand_slug),
    -- Given once, at the first publication; no statement ever changes it.
    slug               text not null check (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
    keyword            text not null,
    title              text not null check (title <> ''),
    meta_description   text not null,
    body_html          text not null,
    sections           jsonb not null,  -- [{"anchor", "title"}], for the table of contents
    sources            jsonb not null,  -- [{"n", "title", "url", "path", "licence"}]
    cited              integer[] not null,  -- the sources that the text refers to
    label              text,
    word_count         integer not null check (word_count >= 0),
    content_etag       text,  -- the orchestrator's, so that an unchanged article is not read twice
    content_updated_at timestamptz not null,
    markup_version     integer not null,
    published_at       timestamptz not null default clock_timestamp(),
    updated_at         timestamptz not null default clock_timestamp(),
    unique (brand_slug, slug)
);

create index pages_newest_first on pages (brand_slug, published_at desc, content_id desc);
