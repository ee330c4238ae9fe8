-- Which brands have search engines told of changed addresses (https://www.indexnow.org), and with which key. The key is no secret: engines fetch it
-- from the site, to see that whoever tells them speaks for it.
create table indexnow_keys (
    brand_slug text        primary key,
    key        text        not null,
    made_at    timestamptz not null default clock_timestamp(),
    told_at    timestamptz,
    -- Why nothing could be told the last time; empty: it could.
    problem    text        not null default ''
);

-- Addresses that are to be told of, each once for all changes until then.
create table changed_addresses (
    brand_slug text        not null,
    slug       text        not null,
    changed_at timestamptz not null default clock_timestamp(),
    due_at     timestamptz not null default clock_timestamp() + interval '1 minute',
    attempts   int         not null default 0,
    primary key (brand_slug, slug)
);
create index changed_addresses_due on changed_addresses (due_at);

-- By triggers, so that no change is missed, whichever version makes it.
create function note_changed_address(brand text, address text) returns void language sql as $$
    insert into changed_addresses (brand_slug, slug)
    select brand, address where exists (select from indexnow_keys where brand_slug = brand)
    on conflict (brand_slug, slug) do update
        set (changed_at, due_at, attempts) = (excluded.changed_at, excluded.due_at, 0)
$$;

create function note_changed_page() returns trigger language plpgsql as $$
begin
    if tg_op <> 'INSERT' then
        perform note_changed_address(old.brand_slug, old.slug);
    end if;
    if tg_op = 'INSERT' or tg_op = 'UPDATE' and new.slug <> old.slug then
        perform note_changed_address(new.brand_slug, new.slug);
    end if;
    return null;
end
$$;

create trigger addresses_of_new_and_removed_pages after insert or delete on pages
    for each row execute function note_changed_page();
create trigger addresses_of_changed_pages after update on pages
    for each row when ((old.updated_at, old.slug, old.taken_down_at) is distinct from (new.updated_at, new.slug, new.taken_down_at))
    execute function note_changed_page();
