-- expand: commands of other systems at the broker that were refused, and why: the last hundred of each key, for eight days.
create table refused_commands (
    -- Ids rise with time.
    refusal_id  uuid        primary key,
    -- Id of the API key.
    sender      text        not null,
    message_id  text,
    type        text,
    code        text        not null,
    detail      text        not null,
    received_at timestamptz not null default now()
);
create index refused_commands_newest on refused_commands (sender, refusal_id desc);
create index refused_commands_by_time on refused_commands (received_at);
