#!/bin/sh
# One database and one role for each service, both named as the service, and no way from one to another. Runs in the image
# of PostgreSQL with its PG… variables set to an administrator's; makes what is missing and renews the roles' passwords.
set -eu

run() { psql --no-psqlrc --quiet --tuples-only --set ON_ERROR_STOP=1 --dbname postgres "$@"; }

for service in orchestrator research publisher social monitor; do
    # Passwords reach psql by its environment: the arguments of a process can be seen by others.
    variable=$(printf %s "$service" | tr '[:lower:]' '[:upper:]')_DATABASE_PASSWORD
    PASSWORD=$(printenv "$variable")
    export PASSWORD
    run --set name="$service" <<'SQL'
\getenv password PASSWORD
select format('create role %I login', :'name')
 where not exists (select from pg_roles where rolname = :'name') \gexec
alter role :"name" login password :'password';
select format('create database %I owner %I encoding %L template template0', :'name', :'name', 'UTF8')
 where not exists (select from pg_database where datname = :'name') \gexec
-- Anybody may connect to a new database unless told otherwise.
revoke all on database :"name" from public;
SQL
    echo "$service: its database is there"
done

run --command 'revoke all on database postgres, template1 from public'
