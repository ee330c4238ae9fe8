-- Links to drafts, for who has one and for a while. Of the word in a link only the digest is known here.
create table previews (
    word_digest bytea       primary key check (octet_length(word_digest) = 32),
    brand_slug  text        not null,
    content_id  uuid        not null,
    expires_at  timestamptz not null
);
