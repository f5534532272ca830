#!/bin/sh
# Starts a standby in its container: a base backup of the primary at the first start, then PostgreSQL.
set -eu

if [ ! -e "$PGDATA/PG_VERSION" ]; then
  # A backup that broke off begins anew.
  rm -rf "$PGDATA" "$PGDATA.part"
  install -d -o postgres -g postgres "$(dirname "$PGDATA")"
  gosu postgres pg_basebackup --dbname="$UPSTREAM" --pgdata="$PGDATA.part" --write-recovery-conf --checkpoint=fast
  mv "$PGDATA.part" "$PGDATA"
fi
exec docker-entrypoint.sh "$@"
