-- As whom the account was connected when a step was first armed, and which step was sent again after a lost answer.
-- Replicas of the version before write neither, and leave both as they are; null: not known, and none.
alter table receipts add column identity text;
alter table receipts add column unanswered text;
