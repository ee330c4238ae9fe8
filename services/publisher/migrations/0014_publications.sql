-- What is where: an article at a target other than the built-in site, whose pages are in `pages`.
create table publications (
    content_id    uuid        not null,
    target        text        not null,
    brand_slug    text        not null,
    kind          text        not null,
    account       text        not null default '',
    -- Null: it is not there yet.
    remote_id     text,
    url           text,
    slug          text,
    -- Of `files`: where the picture is.
    cover         text,
    -- 'writing': asked for and not there yet; 'failed': the last attempt was, `detail` says why, and what was there before still is.
    state         text        not null default 'writing'
                              check (state in ('writing', 'published', 'unpublished', 'failed')),
    -- Whether readers see it, as we left it.
    is_public     boolean     not null default false,
    reason        text        not null default '',
    detail        text        not null default '',
    -- Of the edition that was written last; of what the target showed then.
    digest        text,
    seen          text,
    as_of         timestamptz,
    -- Grows with each outcome: a writing has a receipt of its own, the same edition written twice included.
    round         int         not null default 0,
    -- How often it was made there: anew, if somebody has deleted it and has it overwritten.
    made          int         not null default 1,
    -- Marks of writings since the last outcome, which may have arrived.
    tried         text[]      not null default '{}',
    -- Who brings it up to date now; nobody else does before the time is over.
    claimed_by    uuid,
    claimed_until timestamptz,
    created_at    timestamptz not null default clock_timestamp(),
    changed_at    timestamptz not null default clock_timestamp(),
    number        bigint      generated always as identity unique,
    primary key (content_id, target)
);
create index publications_of_brands on publications (brand_slug, number);

-- How brands want their articles at their targets.
create table target_settings (
    brand_slug text        not null check (brand_slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
    target     text        not null,
    settings   jsonb       not null,
    changed_at timestamptz not null default clock_timestamp(),
    primary key (brand_slug, target)
);

-- Where the home of an article is that stands on the site beside it; null: here.
alter table pages add column canonical_url text;
