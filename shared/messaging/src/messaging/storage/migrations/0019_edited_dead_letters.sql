-- Who edited a dead letter, and when. Then `settled_by` is the edited message, and no replay of the original is taken.
alter table dead_letter_origins add column edited_by text;
alter table dead_letter_origins add column edited_at timestamptz;
