-- Brands that were erased: what was sent before that and comes late is dropped.
create table erased_brands (
    erasure_id uuid        primary key,
    brand_slug text        not null,
    -- When this service was asked to; what is younger is about another brand of that name.
    asked_at   timestamptz not null,
    erased_at  timestamptz not null default clock_timestamp(),
    -- How many of what were removed: {what: count}.
    removed    jsonb       not null
);
create index erased_brands_by_name on erased_brands (brand_slug, asked_at);
