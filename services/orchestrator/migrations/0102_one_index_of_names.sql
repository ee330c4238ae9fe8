-- keywords_by_name does the same.
alter table keywords drop constraint keywords_cycle_id_keyword_key;
