-- With what its posts were asked for, as its target told of them with the page: the article's short link, and its picture (`Picture` of
-- `content.published` as JSON). Whoever asks once more asks for the same. Null: there is none, or a version before was told.
alter table keywords add column short_link text;
alter table keywords add column picture jsonb;

-- When this database heard of a loss, by its own clock: a keyword that has moved since was asked for once more already.
alter table commit_losses add column heard_at timestamptz not null default now();
