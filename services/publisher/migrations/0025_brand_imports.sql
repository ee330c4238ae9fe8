-- Which archive each imported brand came from. Later rows of the same archive are added until the import has ended.
create table brand_imports (
    brand_slug text        primary key check (brand_slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
    import_id  uuid        not null,
    begun_at   timestamptz not null default clock_timestamp(),
    ended_at   timestamptz
);
