-- Keywords whose research waits, for a budget or a provider, and why, as research told last: for whoever asks how a keyword
-- fares, and so that waiting does not count as standing still. It holds for as long as the keyword is queued.
create table research_waits (
    cycle_id uuid        not null,
    position integer     not null,
    reason   text        not null,
    until    timestamptz not null,
    primary key (cycle_id, position),
    foreign key (cycle_id, position) references keywords on delete cascade
);
