-- The brand's tags that the page of its article shows, as its target told of them with the page: the hashtags of its posts.
alter table keywords add column tags jsonb not null default '[]';
