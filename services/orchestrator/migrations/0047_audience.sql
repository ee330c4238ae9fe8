-- For whom a brand writes, in its own words.
alter table brands add column audience text not null default '';
