#!/bin/sh
# Makes the login of the services and of the standbys, when the primary initialises itself.
set -eu

psql --set ON_ERROR_STOP=1 --username postgres --dbname "$POSTGRES_DB" \
  --set app="$APP_PASSWORD" --set replicator="$REPLICATION_PASSWORD" <<'SQL'
create role app login password :'app';
create role replicator login replication password :'replicator';
SQL
echo 'host replication replicator all scram-sha-256' >>"$PGDATA/pg_hba.conf"
