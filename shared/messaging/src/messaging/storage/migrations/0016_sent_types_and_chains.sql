-- What operators need to find a message: its type, and the chain of each, in the order of their ids.
alter table sent_batches add column type text;
alter table sent_batches add column correlation_ids text[];
