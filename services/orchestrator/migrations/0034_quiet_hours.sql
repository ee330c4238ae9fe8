-- When nothing is begun for a brand by itself: {begin, end, time_zone}, by the clocks there, and the period that is under way or comes
-- next. A period lasts until it is replaced by the next one.
alter table brands add column quiet_hours jsonb, add column quiet_from timestamptz, add column quiet_until timestamptz;
alter table brands add constraint brands_quiet_hours_have_a_period
    check ((quiet_hours is null) = (quiet_from is null) and (quiet_from is null) = (quiet_until is null)) not valid;
