-- By which rules the stored keys of a brand's subjects are made: a revision of `orchestrator.subjects.keys`, and the brand's language.
-- A brand without a row here, or with other rules, gets its keys anew before anybody decides about its keywords.
create table subject_rules (
    brand_slug text        primary key references brands on delete cascade,
    revision   smallint    not null,
    language   text        not null,
    -- When making them anew began: what is stored shortly before or after may be by other rules.
    applied_at timestamptz not null
);
