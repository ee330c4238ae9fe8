-- The body as it is shown, if that hides something; searches read it in place of the body. `masking` is the version of the rules
-- that made it; null: not yet looked at, so no search of bodies finds the dead letter.
alter table dead_messages add column masked bytea;
alter table dead_messages add column masking smallint;
