-- What an article has said at any time. The writer's version is 1; `content` has the one that stands.
create table content_versions (
    content_id       uuid        not null references content on delete cascade,
    version          int         not null check (version > 0),
    slug             text        not null,
    title            text        not null,
    meta_description text        not null,
    body_markdown    text        not null,
    word_count       int         not null,
    key_points       text[]      not null,
    label            text,
    sources          jsonb       not null,
    measures         jsonb       not null,
    made_by          text        not null,
    why              text        not null,
    made_at          timestamptz not null default now(),
    primary key (content_id, version)
);
-- Which of them stands.
alter table content add column version int not null default 1;

-- By a trigger, because the version before stores articles, too, and knows no versions.
create function first_version() returns trigger language plpgsql as $$
begin
    insert into content_versions (content_id, version, slug, title, meta_description, body_markdown, word_count, key_points,
                                  label, sources, measures, made_by, why, made_at)
    values (new.content_id, 1, replace(new.slug, '-' || new.content_id, ''), new.title, new.meta_description,
            new.body_markdown, new.word_count, new.key_points, new.label, new.sources, new.measures, 'writer',
            'written from research', new.created_at);
    return null;
end
$$;
create trigger first_version after insert on content for each row execute function first_version();
