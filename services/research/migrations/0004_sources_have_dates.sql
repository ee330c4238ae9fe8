-- The day that a text names itself goes along with it: how old a source is, its reader wants to know. What is kept from
-- before has none, so that it is looked for again.
alter table sources add column published_on date;
comment on column sources.published_on is 'when the text was changed last, or published, as it says itself; null when it does not';
update research set expires_at = now() where expires_at > now();
