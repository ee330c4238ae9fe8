-- Brands that were erased: the name, when, and how many of what went. Each erasure is carried out once, however often it is asked for.
create table erased_brands (
    erasure_id uuid        primary key,
    brand_slug text        not null,
    erased_at  timestamptz not null default clock_timestamp(),
    removed    jsonb       not null
);
