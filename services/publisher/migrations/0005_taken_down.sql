-- When a page was taken down; null while it can be seen. Its address stays its own.
alter table pages add column taken_down_at timestamptz;
