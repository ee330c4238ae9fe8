-- Brands that move to another installation, and how far. The row stays until the brand is erased: such a brand publishes nothing here again.
create table brand_moves (
    brand_slug text        primary key check (brand_slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
    move_id    uuid        not null unique,
    -- The address of the other installation, for people.
    moved_to   text        not null,
    step       text        not null default 'draining'
               check (step in ('draining', 'frozen', 'imported', 'handing_over', 'moved', 'resumed')),
    -- Whether a person had paused the brand before.
    was_paused boolean     not null,
    begun_by   text        not null,
    begun_at   timestamptz not null default clock_timestamp(),
    frozen_at  timestamptz,
    moved_at   timestamptz
);
