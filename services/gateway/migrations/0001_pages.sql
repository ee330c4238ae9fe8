-- A host that pages are read from, and when the next request to it may begin: one clock for all replicas.
create table hosts (
    host            text primary key,
    next_request_at timestamptz not null
);

-- What a site allows robots to read: its robots.txt, kept for as long as it may be believed.
create table robots (
    origin     text primary key,  -- https://example.org
    -- file: as `rules` say. everything: there is no robots.txt. nothing: the site failed over it.
    allows     text not null check (allows in ('file', 'everything', 'nothing')),
    rules      text not null,
    expires_at timestamptz not null
);

create index robots_expired on robots (expires_at);

-- Pages as they were answered, for as long as the site says that they are good.
create table pages (
    address_hash bytea primary key,  -- SHA-256 of `address`, which may be longer than an index takes
    address      text not null,      -- as asked for
    final        text not null,      -- where the redirects ended
    headers      jsonb not null,     -- those that we give on, {"content-type": "text/html"}
    body         bytea not null,
    bytes        bigint generated always as (octet_length(body)) stored,
    read_at      timestamptz not null,
    expires_at   timestamptz not null
);

create index pages_by_expiry on pages (expires_at);

-- Who reads an address right now, so that no two replicas do; past `until` the reader is held to be gone.
create table page_reads (
    address_hash bytea primary key,
    reader       uuid not null,
    until        timestamptz not null
);
