-- Keys of subjects by the rules of `orchestrator.subjects.keys`. Those of the rules before stay where they are, for replicas that know no others:
-- `content.subject`, `keywords.subject` and the rows of `subjects` whose key has no version in front.
alter table content
    add column subject_key text,
    -- Of a keyword that was handed in as a subject of its own. Known once there is a key.
    add column is_distinct boolean not null default false;
alter table keywords
    add column subject_key text,
    -- Handed in as a subject of its own, whatever it folds with.
    add column is_distinct boolean not null default false;
-- Of a row of the rules before: the `claimed_at` at which it was carried over to one of these rules.
alter table subjects add column carried_at timestamptz;

-- What a person has said of a brand's subjects. Keywords stand here as they are spelled, so that it holds under all rules.
create table subject_decisions (
    brand_slug   text        not null references brands,
    kind         text        not null check (kind in ('join', 'split')),
    -- The keyword without regard to case and white space, as orchestrator.subjects.keys.spelling_of.
    spelling     text        not null,
    keyword      text        not null,
    -- Of a join: the keyword whose subject it belongs to since.
    other        text,
    -- Whether the subject that this spelling had to itself was joined, too.
    includes_own boolean     not null default false,
    decided_by   text        not null,
    decided_at   timestamptz not null default now(),
    primary key (brand_slug, kind, spelling),
    check ((kind = 'join') = (other is not null))
);
