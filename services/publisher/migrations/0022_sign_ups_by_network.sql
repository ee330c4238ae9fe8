-- What stands for the network that a sign-up came from, made with the installation's key; null where it is not known.
-- Like its row, it is forgotten after a day.
alter table newsletter_sign_ups add column network_digest bytea;
