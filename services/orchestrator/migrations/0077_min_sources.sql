-- How many independent sources the brand's articles cite at least.
alter table brands add column min_sources int not null default 3;
