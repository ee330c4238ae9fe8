-- Links with which somebody without an account reads one version of a draft, and comments on it.
create table guest_links (
    id         uuid primary key,
    token_hash bytea not null unique,
    brand      text not null,
    content_id uuid not null,
    version    integer not null,
    sealed     bytea not null,
    guest      text not null,
    made_by    uuid not null references people on delete cascade,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
);
create index guest_links_of_content on guest_links (content_id, expires_at);
create index guest_links_by_end on guest_links (expires_at);
create index guest_links_of_person on guest_links (made_by);
comment on column guest_links.token_hash is 'SHA-256 of the link''s token, which alone opens what is sealed';
comment on column guest_links.sealed is 'the page of the version as it was when the link was made, sealed by a key derived from the token';
comment on column guest_links.guest is 'for whom it was made, as its maker calls them';

alter table notes add column is_guest boolean not null default false;
alter table notes add column guest_link uuid;
-- No row has one yet, so there is nothing to validate.
alter table notes
    add constraint notes_guest_link_known foreign key (guest_link) references guest_links on delete set null not valid;
comment on column notes.guest_link is 'through which a guest wrote it; null: a person''s note, or the link has ended';
