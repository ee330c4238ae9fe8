-- Brands that were erased, or are being: what was asked, and which service has answered. Nothing else of such a brand is left here.
create table erasures (
    erasure_id uuid        primary key,
    brand_slug text        not null,
    asked_by   text        not null,
    asked_at   timestamptz not null default clock_timestamp(),
    -- When those that have not answered were asked last.
    sent_at    timestamptz not null default clock_timestamp(),
    ended_at   timestamptz
);
create unique index erasures_under_way on erasures (brand_slug) where ended_at is null;
create index erasures_by_name on erasures (brand_slug, asked_at);

create table erasure_receipts (
    erasure_id uuid        not null references erasures on delete cascade,
    service    text        not null,
    erased_at  timestamptz not null default clock_timestamp(),
    -- How many of what were removed: {what: count}.
    removed    jsonb       not null,
    primary key (erasure_id, service)
);
