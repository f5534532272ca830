# Starts the parts of the whole on one machine: `. ./one-machine.sh`, and then as docs/scale.md says. REPOSITORY is where
# `npm ci` was run; PostgreSQL's programs and HAProxy are on the PATH.
set -a
. ./one-machine.env
set +a

start_etcd() {
  # Debian 12's Patroni takes the second API: by the third it takes back a lock that another has got by then.
  setsid etcd --enable-v2=true --data-dir=etcd --listen-client-urls="http://$PATRONI_ETCD_HOSTS" \
    --advertise-client-urls="http://$PATRONI_ETCD_HOSTS" --listen-peer-urls=http://127.0.0.1:2480 \
    --initial-advertise-peer-urls=http://127.0.0.1:2480 --initial-cluster=default=http://127.0.0.1:2480 \
    >etcd.log 2>&1 </dev/null &
  echo $! >etcd.pid
}

# NAME PORT PORT_OF_PATRONI. PGPASSWORD is for the commands: Patroni has passwords for two roles.
start_patroni() {
  PATRONI_NAME=$1 PATRONI_POSTGRESQL_DATA_DIR=$PWD/$1 PATRONI_POSTGRESQL_PGPASS=$PWD/$1.pgpass \
    PATRONI_POSTGRESQL_LISTEN=127.0.0.1:$2 PATRONI_POSTGRESQL_CONNECT_ADDRESS=127.0.0.1:$2 \
    PATRONI_RESTAPI_LISTEN=127.0.0.1:$3 PATRONI_RESTAPI_CONNECT_ADDRESS=127.0.0.1:$3 \
    setsid env -u PGPASSWORD patroni patroni.yml >"$1.log" 2>&1 </dev/null &
  echo $! >"$1.pid"
}

# writers.cfg, or without Patroni writers-by-hand.cfg. Started again, it takes over from the one before.
start_haproxy() {
  haproxy -D -f haproxy.cfg -f "$1" -p haproxy.pid $([ ! -e haproxy.pid ] || echo -sf $(cat haproxy.pid))
}

# NAME PORT_OF_POSTGRESQL PORT PORT_OF_METRICS
start_service() {
  (cd "$REPOSITORY" && DATABASE_URL="postgres://app:app@127.0.0.1:$2/market" PORT=$3 METRICS_PORT=$4 \
    MAX_REPLICA_LAG=10 MAX_HEAD_AGE=60 TRUST_PROXY=1 exec setsid npm start) >"service-$1.log" 2>&1 </dev/null &
}

start_simulator() {
  (cd "$REPOSITORY" && exec setsid npm run simulate -- --rate 1) >writer.log 2>&1 </dev/null &
}

# NAME PORT, without Patroni. A former primary does not start beside the new one.
start_postgres() {
  if [ ! -e "$1/standby.signal" ] && psql "$UPSTREAM dbname=postgres" --command "select" >/dev/null 2>&1; then
    echo "Another PostgreSQL is the primary: make $1 a standby of it by pg_rewind, or remove it." >&2
    return 1
  fi
  pg_ctl --pgdata "$1" --log "$1.log" --options "-p $2 -c cluster_name=$1 -c listen_addresses=127.0.0.1 \
    -c unix_socket_directories=" start
}
