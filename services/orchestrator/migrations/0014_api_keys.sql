-- Keys of callers of the API. Of the secrets hashes are kept; a key that is rotated has two for a while.
create table api_keys (
    key_id       text        primary key,
    name         text        not null,
    scopes       text[]      not null check (cardinality(scopes) > 0),
    -- Null: all of them. Brands are named by their slugs; the caller sees no other.
    brands       text[]      check (cardinality(brands) > 0),
    secret_hash  bytea       not null,
    former_hash  bytea,
    former_until timestamptz,
    created_at   timestamptz not null default now(),
    created_by   text        not null,
    rotated_at   timestamptz,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    revoked_by   text,
    -- To the minute.
    last_used_at timestamptz
);
-- What rows say of who did something is a name: two who do things at the same time do not share one.
create unique index api_keys_name on api_keys (name) where revoked_at is null;
