-- Brands' logos, drawn anew as PNG when they came in. A brand may have one before its first article, so before its site.
create table logos (
    brand_slug text primary key check (brand_slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
    -- Of the file: the same logo is at the same address, another one at another.
    digest     text not null check (digest ~ '^[0-9a-f]{16}$'),
    width      integer not null check (width > 0),
    height     integer not null check (height > 0),
    -- What it needs behind it on pages, by day or by night, if anything.
    plate      text check (plate in ('light', 'dark')),
    body       bytea not null check (octet_length(body) between 1 and 2000000),
    changed_at timestamptz not null default clock_timestamp()
);
