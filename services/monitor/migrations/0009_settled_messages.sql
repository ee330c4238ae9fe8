-- Words about further dead messages that one command has settled; handled_replays holds one of them for each command.
create table settled_messages (
    event_id   uuid        not null,
    queue      text        not null,
    -- The command that did its work.
    handled_as uuid        not null,
    handled_at timestamptz not null default clock_timestamp(),
    primary key (event_id, queue)
);
create index settled_messages_handled_as on settled_messages (handled_as);
create index settled_messages_by_age on settled_messages (handled_at);
