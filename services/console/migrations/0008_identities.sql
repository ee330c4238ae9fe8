-- Identities at the provider (OpenID Connect) that open their person's own key.
create table identities (
    person     uuid primary key references people on delete cascade,
    issuer     text not null,
    subject    text not null,
    sealed     bytea not null,
    created_at timestamptz not null default now(),
    used_at    timestamptz,
    unique (issuer, subject)
);
comment on column identities.sealed is 'the person''s own key, sealed by what the gateway derives for the identity and gives out at a sign-in alone';
comment on column people.password_sealed is 'the person''s own key, sealed by a key that Argon2id derives from the password; empty: there is no password';

alter table sessions add column ends_at timestamptz;
comment on column sessions.ends_at is 'when it ends in any case, because it was begun at the provider; null: by the settings alone';
