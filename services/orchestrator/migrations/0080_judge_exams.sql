-- Exams of models that judge what another model wrote: sentences with known verdicts.
create table judge_exams (
    exam_id     uuid        primary key,
    -- What requests call it.
    judge       text        not null,
    -- Of the questions.
    version     text        not null,
    questions   int         not null,
    state       text        not null default 'running' check (state in ('running', 'passed', 'failed')),
    begun_by    text        not null,
    begun_at    timestamptz not null default now(),
    -- When a replica last asked, or tried to.
    moved_at    timestamptz not null default now(),
    -- When the next question is due.
    due_at      timestamptz not null default now(),
    -- A replica is asking until then, unless it died.
    claimed_until timestamptz,
    -- Failures of the next question in a row.
    attempts    int         not null default 0,
    -- Why the next question is not asked right now.
    waits_for   text,
    ended_at    timestamptz,
    -- What its answers call the model, and what they are worth: {true, lies, unread}. Null if it ended without.
    model       text,
    result      jsonb,
    -- Why it ended without a result.
    problem     text,
    -- What the judge's answers in later articles call its model, if it is another one.
    answers_as  text
);
create unique index judge_exams_running on judge_exams (judge) where state = 'running';
create index judge_exams_of_models on judge_exams (judge, model, ended_at) where result is not null;

create table judge_exam_answers (
    exam_id     uuid        not null references judge_exams on delete cascade,
    step        text        not null,
    -- `ChatCompletion`, as it came.
    answer      jsonb       not null,
    primary key (exam_id, step)
);
