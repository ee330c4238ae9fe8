-- The database server that the service writes to, as it was seen last. Another one in its place, or the same on another timeline, has only
-- what this row had reached it with: what was committed after seen_at may be gone.
create table server_history (
    only_row          boolean     primary key default true check (only_row),
    -- That of the server, and the id of the database in it: a restored dump has another one.
    system_identifier text        not null,
    timeline          text        not null,
    seen_at           timestamptz not null,
    -- Whether a commit counted only once a standby had it.
    is_synchronous    boolean     not null,
    -- Of the last loss of commits that was noticed.
    kept_until        timestamptz,
    noticed_at        timestamptz
);
