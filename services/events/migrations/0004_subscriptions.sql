-- Readers that take events one after the other, and say which they have handled.
create table subscriptions (
    name           text        primary key,
    -- Null: all, also future ones.
    brands         text[],
    types          text[],
    -- After so many deliveries an event is a dead letter of the subscription.
    max_deliveries int         not null check (max_deliveries between 1 and 1000),
    -- Events up to here were delivered, or do not match.
    position       bigint      not null,
    -- Events before this time were forgotten before anybody took them; null: none were.
    missed_until   timestamptz,
    created_by     text        not null,
    created_at     timestamptz not null default clock_timestamp(),
    pulled_at      timestamptz
);

-- Events that were delivered and are not handled yet.
create table deliveries (
    subscription text        not null references subscriptions (name) on delete cascade,
    position     bigint      not null,
    -- Of the last delivery; an answer with a former one changes nothing.
    lease_id     uuid        not null,
    -- When it may be delivered again: the end of its lease, or the time that its reader asked for.
    available_at timestamptz not null,
    number       int         not null,
    -- Since when it is a dead letter; null: it is none.
    died_at      timestamptz,
    primary key (subscription, position)
);
create unique index deliveries_by_lease on deliveries (lease_id);
create index deliveries_due on deliveries (subscription, available_at) where died_at is null;
create index deliveries_dead on deliveries (subscription, position) where died_at is not null;
