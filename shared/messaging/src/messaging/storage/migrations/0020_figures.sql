-- What each process has done with its messages, for a week: written every few seconds from counts in its memory, so that no message costs
-- a statement. A process adds up what it did in a minute and in an hour, and replaces its own rows; readers add up those of all processes.
create table message_minutes (
    minute      timestamptz not null,
    -- Of the process, new at each start.
    process     uuid        not null,
    queue       text        not null,
    handled     integer     not null,
    -- Attempts that failed and will be made again.
    retried     integer     not null,
    -- Messages that went back to wait for something that is away.
    set_aside   integer     not null,
    dead        integer     not null,
    -- Messages in the queue at the beginning of the minute; null: the broker did not answer.
    ready       integer,
    primary key (minute, process, queue)
);

create table message_hours (
    hour           timestamptz      not null,
    process        uuid             not null,
    queue          text             not null,
    type           text             not null,
    handled        integer          not null,
    retried        integer          not null,
    set_aside      integer          not null,
    dead           integer          not null,
    -- How many messages waited for how long, from their making to the beginning of their last attempt; by the upper bounds of
    -- `messaging.observing.counting.SECONDS`, and last those above all of them.
    waited         integer[]        not null,
    waited_longest double precision not null,
    -- How many calls of handlers took how long.
    worked         integer[]        not null,
    worked_longest double precision not null,
    primary key (hour, process, queue, type)
);
