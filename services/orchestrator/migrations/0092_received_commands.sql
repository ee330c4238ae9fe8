-- expand: commands of other systems that were done, so that none is done twice. Deleted after eight days.
create table received_commands (
    -- Id of the API key.
    sender      text        not null,
    -- The message's own `source` and `id`; these three say what the same message is.
    source      text        not null,
    message_id  text        not null,
    type        text        not null,
    brand_slug  text        not null,
    -- SHA-256 of type and data.
    digest      bytea       not null,
    -- Path of what the command made or changed. Empty within the transaction that does it.
    location    text        not null default '',
    received_at timestamptz not null default now(),
    primary key (sender, source, message_id)
);
create index received_commands_by_time on received_commands (received_at);
create index received_commands_by_brand on received_commands (brand_slug);
