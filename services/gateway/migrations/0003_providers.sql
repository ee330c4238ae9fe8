create table providers (
    name         text primary key,
    kind         text not null,
    settings     jsonb not null,
    sealed       bytea,
    key_end      text,
    key_set_at   timestamptz,
    connected_at timestamptz not null default clock_timestamp()
);
comment on table providers is 'what an operator has connected';
comment on column providers.settings is 'where it is, what it costs, how much it may be asked; no secret';
comment on column providers.sealed is 'its key, encrypted with one of GATEWAY_KEYS; null: it takes none';
comment on column providers.key_end is 'the last four characters of a long key, for people to know it by';
