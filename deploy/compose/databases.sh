#!/bin/sh
# One database and two roles for each service that has a variable <SERVICE>_RUNTIME_PASSWORD, and no way from one to another. The role named as the database owns it and is
# for migrations; the service runs as the other one, NAME_runtime, which a migration lets in and which owns nothing.
#
# Runs in the image of PostgreSQL with its PG… variables set to an administrator's; makes what is missing and renews the
# roles' passwords and how many connections each may have (ROLE_CONNECTIONS). A role may change its own password and its own
# settings, and PostgreSQL lets nobody forbid it: so both are set here each time.
# A password, PGPASSWORD too, may be in the file that <VARIABLE>_FILE names.
set -eu

run() { psql --no-psqlrc --quiet --tuples-only --set ON_ERROR_STOP=1 --dbname postgres "$@"; }

# password VARIABLE: what it holds, or the file that VARIABLE_FILE names.
password() {
    file=$(printenv "$1_FILE") || file=
    if [ -n "$file" ]; then cat "$file"; else printenv "$1" || { echo "neither $1 nor $1_FILE is set" >&2; exit 1; }; fi
}

# role NAME VARIABLE: with the password that the variable has.
role() {
    # Passwords reach psql by its environment: the arguments of a process can be seen by others.
    PASSWORD=$(password "$2") || exit 1
    export PASSWORD
    run --set name="$1" --set connections="${ROLE_CONNECTIONS:-50}" <<'SQL'
\getenv password PASSWORD
select format('create role %I login', :'name')
 where not exists (select from pg_roles where rolname = :'name') \gexec
alter role :"name" login password :'password' connection limit :connections;
alter role :"name" reset all;
select format('alter role %I in database %I reset all', :'name', datname)
  from pg_db_role_setting join pg_database on pg_database.oid = setdatabase
 where setrole = to_regrole(quote_ident(:'name')) \gexec
SQL
}

if [ -n "${PGPASSWORD_FILE:-}" ]; then
    PGPASSWORD=$(password PGPASSWORD) || exit 1
    export PGPASSWORD
fi
# A server that has just been started is waited for, since Docker asks seldom whether it is well.
waited=0
until pg_isready --quiet --timeout=5; do
    [ "$waited" -lt "${WAIT_SECONDS:-120}" ] || { echo "PostgreSQL does not answer within ${WAIT_SECONDS:-120} s" >&2; exit 1; }
    sleep 1
    waited=$((waited + 1))
done
for variable in $(env | sed -n 's/^\([A-Z_]*\)_RUNTIME_PASSWORD\(_FILE\)\{0,1\}=.*/\1/p' | sort -u); do
    service=$(printf %s "$variable" | tr '[:upper:]' '[:lower:]')
    role "$service" "${variable}_DATABASE_PASSWORD"
    role "${service}_runtime" "${variable}_RUNTIME_PASSWORD"
    run --set name="$service" <<'SQL'
select format('create database %I owner %I encoding %L template template0', :'name', :'name', 'UTF8')
 where not exists (select from pg_database where datname = :'name') \gexec
-- Anybody may connect to a new database unless told otherwise.
revoke all on database :"name" from public;
SQL
    echo "$service: its database is there"
done

run --command 'revoke all on database postgres, template1 from public'
