-- When a page was taken down; why is among the decisions.
alter table content add column taken_down_at timestamptz;
