-- What this service has dead-lettered, by a digest of its content. A replay is taken only if its content stands here: whoever
-- sends replays may write any body, and has no way into this table.
create table dead_letter_origins (
    event_id    uuid        primary key,
    -- SHA-256 of type, source, correlation id and payload. Null: an administrator has accepted the next replay of this event.
    digest      bytea,
    -- How the message first came, where it died before anybody believed it. All three null: it was believed.
    exchange    text,
    routing_key text,
    user_id     text,
    -- The replay that has taken its place.
    settled_by  uuid,
    dead_at     timestamptz not null default now()
);
create index dead_letter_origins_by_digest on dead_letter_origins (digest) where settled_by is null;
