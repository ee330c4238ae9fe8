-- Newsletters: which brands send their readers each new article by mail, to whom, and what went out.

-- Addresses are looked up, and links in letters are signed, with a key of this installation.
create table newsletter_keys (
    is_the_only_one boolean primary key default true check (is_the_only_one),
    key             bytea   not null default decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')
);
insert into newsletter_keys default values;

-- A brand without a row has no newsletter.
create table newsletters (
    brand_slug   text        primary key check (brand_slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
    -- The gateway's mail account.
    account      text        not null,
    turned_on_at timestamptz not null default clock_timestamp(),
    -- Nothing is sent before, as the last attempt found the gateway or the mail server away.
    paused_until timestamptz,
    -- Why; empty: the last letter went out.
    problem      text        not null default ''
);

create table newsletter_subscribers (
    id             uuid        primary key default gen_random_uuid(),
    brand_slug     text        not null,
    -- Made with the installation's key, so that it can be compared, and not be guessed from outside.
    address_digest bytea       not null,
    -- Null once the subscription has ended.
    address        text,
    state          text        not null check (state in ('pending', 'confirmed', 'left', 'bounced', 'removed')),
    -- Of the last sign-up: only its link confirms.
    sign_up_id     uuid        not null default gen_random_uuid(),
    signed_up_at   timestamptz not null default clock_timestamp(),
    confirmed_at   timestamptz,
    ended_at       timestamptz,
    -- Letters in a row for which the mail server knew no such address.
    bounces        smallint    not null default 0,
    unique (brand_slug, address_digest),
    check ((address is null) = (state in ('left', 'bounced', 'removed')))
);
create index newsletter_subscribers_by_state on newsletter_subscribers (brand_slug, state, id);
create index newsletter_subscribers_pending on newsletter_subscribers (signed_up_at) where state = 'pending';

-- Sign-ups of the last day, to bound them: by brand and hour, and by address over all brands.
create table newsletter_sign_ups (
    brand_slug     text        not null,
    address_digest bytea       not null,
    at             timestamptz not null default clock_timestamp()
);
create index newsletter_sign_ups_by_time on newsletter_sign_ups (at);
create index newsletter_sign_ups_by_address on newsletter_sign_ups (address_digest, at);

-- One letter for each article that is published while the newsletter is on. It waits ten minutes, in which the page can be taken down.
create table newsletter_letters (
    content_id   uuid        primary key,
    brand_slug   text        not null,
    made_at      timestamptz not null default clock_timestamp(),
    due_at       timestamptz not null default clock_timestamp() + interval '10 minutes',
    -- When it was addressed to those who subscribed by then.
    addressed_at timestamptz
);
create index newsletter_letters_due on newsletter_letters (due_at) where addressed_at is null;
create index newsletter_letters_by_brand on newsletter_letters (brand_slug, made_at);

-- The outbox: a letter for a subscriber, or the request to confirm a sign-up, once. `letter_id` is the article's or the sign-up's.
create table newsletter_deliveries (
    letter_id     uuid        not null,
    subscriber_id uuid        not null references newsletter_subscribers (id) on delete cascade,
    brand_slug    text        not null,
    kind          text        not null check (kind in ('confirmation', 'letter')),
    state         text        not null default 'waiting' check (state in ('waiting', 'sending', 'sent', 'failed', 'in_doubt')),
    attempts      smallint    not null default 0,
    -- When the next attempt is due; while it is sent: until when nobody else takes it.
    due_at        timestamptz not null default clock_timestamp(),
    made_at       timestamptz not null default clock_timestamp(),
    ended_at      timestamptz,
    -- Why it failed, or is in doubt; without the address.
    reason        text        not null default '',
    primary key (letter_id, subscriber_id)
);
create index newsletter_deliveries_waiting on newsletter_deliveries (kind, due_at) where state = 'waiting';
create index newsletter_deliveries_sending on newsletter_deliveries (due_at) where state = 'sending';
create index newsletter_deliveries_by_subscriber on newsletter_deliveries (subscriber_id);
create index newsletter_deliveries_by_brand on newsletter_deliveries (brand_slug, state);

-- By a trigger, so that no article is missed, whichever version publishes it.
create function note_new_letter() returns trigger language plpgsql as $$
begin
    insert into newsletter_letters (content_id, brand_slug)
    select new.content_id, new.brand_slug where exists (select from newsletters where brand_slug = new.brand_slug)
    on conflict do nothing;
    return null;
end
$$;
create trigger letters_of_new_pages after insert on pages for each row execute function note_new_letter();
