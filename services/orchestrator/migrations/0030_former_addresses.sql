-- Addresses that articles had before a correction gave them another: no other article gets one of them.
create table former_addresses (
    brand_slug text        not null references brands,
    slug       text        not null,
    content_id uuid        not null,
    left_at    timestamptz not null default clock_timestamp(),
    primary key (brand_slug, slug)
);

-- Which state of the article its published_url was told of; of two addresses, that of the later state holds.
alter table content add column published_as_of timestamptz;
