-- Drafts are reviewed one by one. `brands.looked_at` stays: whoever says to have looked at a brand has looked at all that waits, and the
-- version before writes it with every decision.
alter table content add column reviewed_at timestamptz;

alter table brands
    -- With so many drafts that nobody has reviewed, nothing more is begun.
    add column max_unreviewed_drafts int not null default 5,
    -- When others were last told that drafts hold the brand up.
    add column held_up_told_at timestamptz;
alter table brands
    add constraint brands_max_unreviewed_drafts_known check (max_unreviewed_drafts between 1 and 100) not valid;

-- Headers of a trace, as JSON: the one that a keyword's next step continues, and the one that its cycle began in. Null: none is known.
alter table keywords add column trace text;
alter table cycles add column trace text;
