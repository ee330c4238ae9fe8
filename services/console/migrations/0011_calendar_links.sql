-- Addresses of a brand's calendar for other programs, which need no sign-in.
create table calendar_links (
    id         uuid primary key,
    token_hash bytea not null unique,
    brand      text not null,
    name       text not null,
    key_id     text not null,
    sealed     bytea not null,
    made_by    uuid references people on delete set null,
    made_at    timestamptz not null default now(),
    used_at    timestamptz
);
create index calendar_links_of_brand on calendar_links (brand, made_at);
create index calendar_links_of_person on calendar_links (made_by) where made_by is not null;
comment on column calendar_links.token_hash is 'SHA-256 of the address''s token, which alone opens what is sealed';
comment on column calendar_links.key_id is 'public id of the API key at the orchestrator, which may only read the brand';
comment on column calendar_links.sealed is 'this API key, sealed by a key derived from the token';
