-- What there was to say when a post was made: {title, keyword, description, points, tags, link}. How it reads elsewhere is composed of
-- it when somebody looks. Null: a post of the version before, whose drafts are in `drafts`.
alter table posts add column story jsonb;
alter table posts alter column drafts set default '[]';
alter table pending_posts add column story jsonb;
alter table pending_posts alter column drafts set default '[]';
