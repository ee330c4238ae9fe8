-- Signing in at the identity provider. What seals the keys of people who do so comes from one secret, which is sealed by GATEWAY_KEYS.
create table sign_in_secret (
    one    boolean primary key default true check (one),
    sealed bytea not null
);

-- Codes of the provider that were used: each signs in once, whatever the provider says.
create table sign_in_codes (
    code_hash bytea       primary key,
    used_at   timestamptz not null default clock_timestamp()
);
create index sign_in_codes_by_time on sign_in_codes (used_at);
