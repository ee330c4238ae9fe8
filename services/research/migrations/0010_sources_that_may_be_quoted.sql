-- A digest prints whole paragraphs: of what was given to us, of a brand's own pages, and of what is freely licensed.
alter table sources add column quotable boolean not null default true;
comment on column sources.quotable is 'whether whole paragraphs of it may be printed';

-- What was found on the web before it was asked whether it may be quoted is looked for again.
update research set expires_at = now() where looked_in <> '' and expires_at > now();
