-- Whether posts of a brand lead to its articles by short links, which are counted. Not of brands that did not ask for it: their posts stay
-- as they are.
alter table brands add column short_links boolean not null default false;
