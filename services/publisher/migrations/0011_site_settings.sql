-- How a brand's site looks and where it is found. A brand may have settings before its first article, so before its site.
create table site_settings (
    brand_slug text primary key check (brand_slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
    settings   jsonb not null,
    -- An origin of its own, `https://blog.example.org`; its host leads to no other site.
    address    text check (address ~ '^https?://[a-z0-9.-]+(:[0-9]+)?$'),
    changed_at timestamptz not null default clock_timestamp()
);
create unique index site_settings_by_host on site_settings ((split_part(address, '//', 2)));
