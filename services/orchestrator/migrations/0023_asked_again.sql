-- The command that a keyword waits for, so that the very same can be sent once more; null: sent by the version before.
alter table keywords
    add column command_id uuid,
    -- research or writing
    add column command_stage text,
    add column asked_again boolean not null default false;
