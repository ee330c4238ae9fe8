-- Accounts of brands that were erased, sealed, for a week: whoever holds the orchestrator's key can ask for an erasure, and an
-- administrator can undo it. Nothing is sent with them. Where `sealed` is null, the account stayed with other brands.
create table erased_accounts (
    erasure_id uuid        not null,
    brand_slug text        not null,
    name       text        not null,
    kind       text        not null,
    brands     text[]      not null,
    settings   jsonb       not null,
    sealed     bytea,
    label      text,
    facts      jsonb       not null,
    scopes     text[]      not null,
    expires_at timestamptz,
    erased_at  timestamptz not null default now(),
    primary key (erasure_id, name)
);
