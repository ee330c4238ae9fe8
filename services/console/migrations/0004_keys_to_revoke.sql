-- API keys of people who were removed, until an owner's own key has revoked them: the console has none to do it with.
create table keys_to_revoke (
    key_id text primary key
);
comment on column keys_to_revoke.key_id is 'public id of the key at the orchestrator';
