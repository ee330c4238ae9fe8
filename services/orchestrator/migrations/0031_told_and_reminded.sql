-- When its end was told to others; null: not yet, or it has not ended.
alter table cycles add column told_at timestamptz;
update cycles set told_at = ended_at where ended_at is not null;

-- When a brand's drafts that wait were told of last.
alter table brands add column reminded_at timestamptz;
