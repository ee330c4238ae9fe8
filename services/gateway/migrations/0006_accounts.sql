-- Accounts of brands with others: where articles and posts go. Secrets are in `sealed` alone, encrypted with one of GATEWAY_KEYS.
create table accounts (
    name           text primary key,
    kind           text not null,
    brands         text[] not null,  -- that may use it; '*': all of them, and operators
    settings       jsonb not null,   -- where it is, how much it may be asked; no secret
    sealed         bytea not null,
    generation     bigint not null default 0,  -- counts changes of `sealed`
    label          text,             -- what people call it there: @acme
    facts          jsonb not null default '{}',  -- what its own side says of it: ids, which are no secrets
    scopes         text[] not null default '{}',
    expires_at     timestamptz,
    state          text not null default 'unchecked' check (state in ('ok', 'expiring', 'needs_reconnecting', 'unchecked')),
    detail         text,             -- why, in plain words
    connected_at   timestamptz not null default clock_timestamp(),
    checked_at     timestamptz,
    check_due_at   timestamptz not null default clock_timestamp(),
    renewing_until timestamptz       -- until when one process renews what is sealed, and nobody else
);
create index accounts_to_be_checked on accounts (check_due_at);

-- The highest fence that was seen of each receipt: who comes with a lower one has been replaced, and sends nothing any more.
create table account_effects (
    receipt_id uuid primary key,
    fence      bigint not null,
    seen_at    timestamptz not null default clock_timestamp()
);
create index account_effects_by_age on account_effects (seen_at);

-- Requests to accounts that are under way. Past `until` nothing of one is written any more, whatever became of its process.
create table account_calls (
    id         uuid primary key default gen_random_uuid(),
    account    text not null,
    brand      text not null,
    receipt_id uuid,
    fence      bigint,
    sends      boolean not null,
    until      timestamptz not null
);
create index account_calls_of_accounts on account_calls (account);
create index account_calls_of_receipts on account_calls (receipt_id) where receipt_id is not null;

-- What a provider knows this installation by, where people log in with it: one for each kind.
create table account_apps (
    kind         text primary key,
    client_id    text not null,
    sealed       bytea,  -- its secret; null: it has none
    settings     jsonb not null default '{}',
    connected_at timestamptz not null default clock_timestamp()
);

-- Logging in with a provider: begun, and not come back yet.
create table account_authorizations (
    state_hash   bytea primary key,
    account      text not null,
    kind         text not null,
    brands       text[] not null,
    settings     jsonb not null,
    redirect_uri text not null,
    sealed       bytea not null,  -- the verifier of PKCE
    expires_at   timestamptz not null
);
create index account_authorizations_by_age on account_authorizations (expires_at);
