-- Who has seen an alert of Alertmanager or Prometheus, which know of no such thing. An alert that ends and begins anew has another began_at.
create table alert_acknowledgements (
    -- A hash of its labels.
    alert           text        not null,
    began_at        timestamptz not null,
    acknowledged_by text        not null,
    note            text        not null default '',
    acknowledged_at timestamptz not null default clock_timestamp(),
    primary key (alert, began_at)
);
create index alert_acknowledgements_by_age on alert_acknowledgements (acknowledged_at);
