-- Findings about articles whose publication does not end; the version before does not know their kind, and reads every column of an
-- audit's row.
create table audit_findings_of_publications (
    audit_id uuid    primary key references audits on delete cascade,
    findings jsonb   not null,
    is_cut   boolean not null
);
