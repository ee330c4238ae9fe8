-- expand: versions that people stored, whose changed sentences a judge reads; and what it found.
create table edit_readings (
    content_id    uuid        not null references content on delete cascade,
    version       int         not null,
    asked_at      timestamptz not null default now(),
    -- When the judge is asked next.
    due_at        timestamptz not null default now(),
    -- A replica is asking until then, unless it died.
    claimed_until timestamptz,
    -- Failures in a row.
    attempts      int         not null default 0,
    -- Why the judge is not asked right now.
    waits_for     text,
    ended_at      timestamptz,
    -- Why it ended without a result.
    problem       text,
    -- The judge's answers by step, while it is asked: none is paid twice.
    answers       jsonb       not null default '{}',
    -- What it found: {text, verdict, given_by, sources, passages, problem, nearest} of each sentence.
    sentences     jsonb       not null default '[]',
    primary key (content_id, version)
);
create index edit_readings_open on edit_readings (due_at) where ended_at is null;
