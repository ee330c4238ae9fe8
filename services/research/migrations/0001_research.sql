-- Hyphens, dashes and slashes separate words, so that "write-ahead logging" and "write ahead logging" give the same
-- words at the same distances (unaltered, the parser counts a hyphenated word three times). An underscore joins:
-- autovacuum_max_workers is a name of its own and no mention of "autovacuum".
create function searchable(content text) returns tsvector
    language sql immutable parallel safe strict
    return to_tsvector('pg_catalog.english', translate(content, '-/‐‑‒–—―−_', '         '));

-- One stemmed word as a query, taken literally whatever characters it holds.
create function as_query(lexeme text) returns tsquery
    language sql immutable parallel safe strict
    return ('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''')::tsquery;

-- {"word": [positions]} of the wanted words in a text.
create function hits(content tsvector, wanted text[]) returns jsonb
    language sql immutable parallel safe strict
    return (select jsonb_object_agg(lexeme, positions) from unnest(content) where lexeme = any (wanted));

create table documents (
    document_id  bigint generated always as identity primary key,
    corpus       text not null,
    path         text not null,
    size         bigint not null,
    modified_ns  bigint not null,
    title        text not null default '',
    url          text,
    licence      text,
    published_on date,
    quality      real not null default 0,
    passage_count integer not null default 0,
    problem      text,
    indexed_at   timestamptz not null default now(),
    title_search tsvector not null generated always as (searchable(title)) stored,
    unique (corpus, path)
);
comment on column documents.corpus is 'the folder, so that pointing the service at another one forgets the first';
comment on column documents.problem is 'why the file was skipped; null when it was read';

create table passages (
    document_id    bigint not null references documents on delete cascade,
    position       integer not null,
    heading        text,
    content        text not null,
    flags          text[] not null default '{}',
    heading_search tsvector not null generated always as (searchable(coalesce(heading, ''))) stored,
    search         tsvector not null generated always as (searchable(content)) stored,
    primary key (document_id, position)
);
create index passages_search on passages using gin (search) with (fastupdate = off);

create table research (
    research_id uuid primary key default gen_random_uuid(),
    brand_slug  text not null,
    keyword     text not null,
    cache_key   text not null,
    priority    text not null check (priority in ('high', 'normal', 'low')),
    provider    text not null,
    created_at  timestamptz not null default now(),
    expires_at  timestamptz not null
);
create index research_cache on research (brand_slug, cache_key, expires_at);

create table sources (
    research_id uuid not null references research on delete cascade,
    n           integer not null check (n >= 1),
    title       text not null,
    url         text,
    path        text,
    licence     text,
    passages    jsonb not null,
    primary key (research_id, n)
);
comment on column sources.passages is '[{heading, text, score, flags}], in the order of the document';
