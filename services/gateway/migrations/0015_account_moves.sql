-- Accounts that come with a brand from another installation. `sealed` is the private key of one hand-over, encrypted with one of GATEWAY_KEYS;
-- null once the accounts have arrived.
create table account_arrivals (
    move_id    uuid        primary key,
    brand_slug text        not null,
    public_key bytea       not null,
    sealed     bytea,
    arrived    text[]      not null default '{}',
    begun_at   timestamptz not null default clock_timestamp()
);
