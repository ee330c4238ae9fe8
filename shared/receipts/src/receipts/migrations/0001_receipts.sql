-- Effects on servers of others that no transaction covers: one row for each, written before anything is sent.
create table receipts (
    receipt_id  uuid        primary key,
    -- The order in which they were first asked for.
    number      bigint      generated always as identity unique,
    kind        text        not null,
    account     text        not null,
    brand_slug  text        not null,
    -- For people.
    subject     text        not null,
    -- Texts, ids, keys and times as the first attempt was made with: later ones are made with the same.
    prepared    jsonb       not null,
    -- Names of the steps in order, and of those that are confirmed.
    steps       text[]      not null,
    done        text[]      not null default '{}',
    -- Where it is at.
    step        text,
    -- What is to be remembered of the answers: ids, addresses.
    remote      jsonb       not null default '{}',
    state       text        not null default 'ready'
                            check (state in ('ready', 'armed', 'unknown', 'in_doubt', 'refused', 'confirmed')),
    -- Grows each time that somebody takes it up. Whoever comes with a lower one is refused by the gateway, and here.
    fence       bigint      not null default 0,
    -- That of the latest send of this step; 0: none that could have had an effect.
    sent_fence  bigint      not null default 0,
    -- Until then it is somebody's who sends or looks; others wait.
    held_until  timestamptz,
    -- Not to be taken up earlier.
    not_before  timestamptz,
    -- From when nothing more can arrive of what was sent; null: not known.
    quiet_since timestamptz,
    -- Look-ups in a row that could not be made.
    looks       int         not null default 0,
    reason      text        not null default '',
    detail      text        not null default '',
    created_at  timestamptz not null default clock_timestamp(),
    changed_at  timestamptz not null default clock_timestamp()
);
create index receipts_open on receipts (state, number) where state <> 'confirmed';
create index receipts_of_brands on receipts (brand_slug, number);

-- All that was tried and decided, the latest last; an entry is written with the change that it tells of.
create table receipt_attempts (
    attempt_id bigint      generated always as identity primary key,
    receipt_id uuid        not null references receipts on delete cascade,
    step       text        not null,
    fence      bigint      not null,
    event      text        not null,
    detail     text        not null default '',
    made_by    text        not null default '',
    made_at    timestamptz not null default clock_timestamp()
);
create index receipt_attempts_by_receipt on receipt_attempts (receipt_id, attempt_id);
