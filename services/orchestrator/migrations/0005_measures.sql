-- What is measured of an article, why it waits for a person instead of being published, and a sample of its runs of words.
alter table content
    add column measures jsonb not null default '[]',
    add column held_for text[] not null default '{}',
    add column fingerprint bigint[];
-- Whether the keyword's article waits so.
alter table keywords add column held boolean not null default false;
