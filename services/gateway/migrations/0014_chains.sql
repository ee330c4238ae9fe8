-- What chains with a limit have spent and set aside, in micro-dollars; a chain is what one request of a brand causes.
create table chain_spend (
    brand      text        not null,
    chain      text        not null,
    reserved   bigint      not null default 0 check (reserved >= 0),
    spent      bigint      not null default 0 check (spent >= 0),
    changed_at timestamptz not null default clock_timestamp(),
    primary key (brand, chain)
);
create index chain_spend_by_age on chain_spend (changed_at);

-- The calls that were made for chains. Cost and outcome of those that may cost something are in `calls`.
create table chain_calls (
    id         uuid        primary key default gen_random_uuid(),
    chain      text        not null,
    brand      text,       -- null: pages are read for no brand
    kind       text        not null check (kind in ('model', 'search', 'page', 'account')),
    target     text        not null, -- the account, or the host
    subject    text        not null,
    call_id    uuid,       -- its entry in the ledger
    is_limited boolean     not null default false, -- whether it counts in `chain_spend`
    began_at   timestamptz not null default clock_timestamp(),
    ended_at   timestamptz,
    problem    text        -- why there was no answer
);
create index chain_calls_in_order on chain_calls (chain, began_at, id);
create index chain_calls_by_age on chain_calls (began_at);
create index chain_calls_of_calls on chain_calls (call_id) where call_id is not null;
