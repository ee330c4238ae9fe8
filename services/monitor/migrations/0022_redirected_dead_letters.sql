-- The queue in which a dead letter died, if that is gone and its replay went to another one, which `queue` names then.
alter table dead_messages add column redirected_from text;
