-- Passkeys, each of which opens its person's own key.
create table passkeys (
    id            uuid primary key default gen_random_uuid(),
    person        uuid not null references people on delete cascade,
    credential_id bytea not null unique,
    public_key    bytea not null,
    sign_count    bigint not null,
    sealed        bytea not null,
    name          text not null,
    created_at    timestamptz not null default now(),
    used_at       timestamptz
);
create index passkeys_of_person on passkeys (person);
comment on column passkeys.sealed is 'the person''s own key, sealed by what only the passkey calculates (the extension prf)';

create table passkey_challenges (
    challenge bytea primary key,
    person    uuid references people on delete cascade,
    made_at   timestamptz not null default now()
);
create index passkey_challenges_by_age on passkey_challenges (made_at);
create index passkey_challenges_of_person on passkey_challenges (person) where person is not null;
comment on column passkey_challenges.person is 'who adds a passkey; null: somebody signs in';
