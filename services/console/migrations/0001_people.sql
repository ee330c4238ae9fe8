-- People who use the console, how each unlocks their API key, and where they are signed in.
create table people (
    id              uuid primary key,
    name            text not null,
    role            text not null check (role in ('viewer', 'author', 'editor', 'operator', 'owner')),
    brands          text[],
    language        text not null default 'en',
    zone            text not null default 'UTC',
    key_id          text not null,
    sealed_key      bytea not null,
    password_salt   bytea not null,
    password_cost   text not null,
    password_sealed bytea not null,
    created_at      timestamptz not null default now(),
    signed_in_at    timestamptz
);
create unique index people_by_name on people (lower(name));
comment on column people.brands is 'slugs that the person may see; null: all brands';
comment on column people.key_id is 'public id of the person''s API key at the orchestrator';
comment on column people.sealed_key is 'the API key, sealed by the person''s own key';
comment on column people.password_sealed is 'the person''s own key, sealed by a key that Argon2id derives from the password';

create table sessions (
    id           uuid primary key default gen_random_uuid(),
    token_hash   bytea not null unique,
    person       uuid not null references people on delete cascade,
    sealed       bytea not null,
    created_at   timestamptz not null default now(),
    seen_at      timestamptz not null default now(),
    confirmed_at timestamptz not null default now(),
    browser      text not null default '',
    address      text not null default ''
);
create index sessions_of_person on sessions (person);
create index sessions_by_age on sessions (seen_at);
comment on column sessions.token_hash is 'SHA-256 of the cookie, which alone opens what is sealed';
comment on column sessions.sealed is 'the person''s own key, sealed by a key derived from the cookie';
comment on column sessions.confirmed_at is 'when the password was last given in this session';

create table invitations (
    token_hash bytea primary key,
    person     uuid references people on delete cascade,
    name       text not null,
    role       text not null check (role in ('viewer', 'author', 'editor', 'operator', 'owner')),
    brands     text[],
    key_id     text not null,
    sealed_key bytea not null,
    invited_by text not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
);
create index invitations_by_end on invitations (expires_at);
create index invitations_of_person on invitations (person) where person is not null;
comment on column invitations.person is 'whose password it sets anew; null: it makes a person';
comment on column invitations.sealed_key is 'the API key for the person, sealed by a key derived from the link''s token';

create table recovery_codes (
    code_hash bytea primary key,
    person    uuid not null references people on delete cascade,
    sealed    bytea not null,
    used_at   timestamptz
);
create index recovery_codes_of_person on recovery_codes (person);
comment on column recovery_codes.sealed is 'the person''s own key, sealed by a key derived from the code; empty once used';

create table done_once (
    person   uuid not null references people on delete cascade,
    id       text not null,
    answer   bytea,
    begun_at timestamptz not null default now(),
    primary key (person, id)
);
create index done_once_by_age on done_once (begun_at);
comment on table done_once is 'actions by the id of their form, so that a double click acts once';
comment on column done_once.answer is 'the response, sealed by the person''s own key; null: still under way';

create table sign_in_failures (
    kind      text not null,
    subject   text not null,
    failures  integer not null,
    last_at   timestamptz not null,
    blocked_until timestamptz not null,
    primary key (kind, subject)
);
create index sign_in_failures_by_age on sign_in_failures (last_at);
comment on table sign_in_failures is 'wrong passwords by account and network, which slow the next tries';

create table known_networks (
    person  uuid not null references people on delete cascade,
    network text not null,
    seen_at timestamptz not null default now(),
    primary key (person, network)
);
create index known_networks_by_age on known_networks (seen_at);
comment on table known_networks is 'networks from which a person has signed in; strangers'' failures do not slow them there';
