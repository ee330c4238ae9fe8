-- Results of steps that are large: each text once, however many steps have it, and beside the steps, where the version before,
-- which knows nothing of them, does such a step again instead of stumbling over it.
create table blobs (
    -- SHA-256 of the content.
    digest        bytea       primary key,
    content       text        not null,
    bytes         int         not null,
    created_at    timestamptz not null default clock_timestamp(),
    -- When a step referred to it last.
    referenced_at timestamptz not null default clock_timestamp()
);
create index blobs_by_age on blobs (referenced_at);

create table large_results (
    workflow_id uuid        not null,
    step        text        not null,
    digest      bytea       not null references blobs,
    begun_at    timestamptz not null,
    finished_at timestamptz not null default now(),
    primary key (workflow_id, step)
);
create index large_results_by_age on large_results (finished_at);
create index large_results_by_digest on large_results (digest);
