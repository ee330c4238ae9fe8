-- Pictures that were drawn for articles. A store of what can be drawn again: any row may go.
create table covers (
    content_id uuid not null references pages (content_id) on delete cascade,
    -- Of what is drawn: another title is another picture at another address.
    digest     text not null check (digest ~ '^[0-9a-f]{16}$'),
    format     text not null check (format in ('png', 'jpg')),
    body       bytea not null check (octet_length(body) between 1 and 1000000),
    drawn_at   timestamptz not null default clock_timestamp(),
    primary key (content_id, digest, format)
);
