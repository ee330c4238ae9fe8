-- Where pages were found before they moved. Such an address leads to its article for good, and no other article ever gets it.
create table former_addresses (
    brand_slug text        not null references sites (brand_slug),
    slug       text        not null check (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
    content_id uuid        not null,
    left_at    timestamptz not null default clock_timestamp(),
    primary key (brand_slug, slug)
);
