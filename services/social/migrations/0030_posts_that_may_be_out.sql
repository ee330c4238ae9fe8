-- Since when it may be out without a row or a receipt that says so: the database has lost commits. Null: it was not, as far as is known.
alter table channel_posts add column may_be_out_since timestamptz;
