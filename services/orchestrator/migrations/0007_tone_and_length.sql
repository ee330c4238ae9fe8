-- How a brand wants what a model writes to read, and how long.
alter table brands
    add column tone text not null default '',
    add column words int;
