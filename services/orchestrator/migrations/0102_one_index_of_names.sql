-- contract: keywords_by_name refuses the same rows, and `on conflict (cycle_id, keyword)` of the version before finds it.
alter table keywords drop constraint keywords_cycle_id_keyword_key;
