#!/usr/bin/env bash
# A real WordPress for tests of its adapter: wordpress.sh FOLDER PORT starts one on 127.0.0.1 and writes FOLDER/credentials.json;
# wordpress.sh FOLDER PORT stop ends it. From Debian's packages, which are unpacked into FOLDER and not installed: no rights are needed,
# and no server of this machine is touched. The database listens on a socket alone.
set -euo pipefail

folder=$(mkdir -p "$1" && cd "$1" && pwd)
port=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$folder/root
site=$folder/site
url=http://127.0.0.1:$port

# Ends what a file names, with all that it started: PHP's workers outlive their parent, and hold the port.
end() {
  local pid
  [ -s "$1" ] || return 0
  pid=$(cat "$1")
  kill -- "-$pid" 2>/dev/null || true
  for _ in $(seq 100); do kill -0 -- "-$pid" 2>/dev/null || break; sleep 0.1; done
  rm -f "$1"
}

if [ "${3:-}" = stop ]; then
  end "$folder/php.pid"
  end "$folder/database.pid"
  if [ -s "$folder/socket" ]; then rm -rf "$(dirname "$(cat "$folder/socket")")" "$folder/socket"; fi
  exit 0
fi
if [ -s "$folder/php.pid" ] && kill -0 "$(cat "$folder/php.pid")" 2>/dev/null; then exit 0; fi

if [ ! -e "$folder/unpacked" ]; then
  packages="php-cli php-mysql php-gd php-mbstring php-xml mariadb-server wordpress php-getid3 libjs-underscore libjs-cropper"
  mkdir -p "$folder/packages" "$root"
  # What of it this machine lacks, by apt's own reckoning.
  # shellcheck disable=SC2086
  missing=$(apt-get install --simulate --no-install-recommends $packages | awk '/^Inst/ {print $2}' | grep -v '^apache2\|^libapache2')
  # shellcheck disable=SC2086
  (cd "$folder/packages" && apt-get -o APT::Sandbox::User=root download -qq $missing wordpress)
  for package in "$folder"/packages/*.deb; do dpkg -x "$package" "$root"; done
  # Links to what lies beside it when it is installed.
  find "$root/usr/share/wordpress" -type l | while read -r link; do
    there=$(readlink "$link")
    case $there in /*) ;; *) there=$(realpath -m --no-symlinks "/usr/${link#"$root/usr/"}/../$there") ;; esac
    rm "$link"
    for origin in "$root$there" "$there"; do if [ -e "$origin" ]; then cp -rL "$origin" "$link"; break; fi; done
  done
  cp -r "$root/usr/share/wordpress" "$site"
  if [ -d "$root/var/lib/wordpress/wp-content" ]; then cp -rn "$root/var/lib/wordpress/wp-content/." "$site/wp-content/"; fi
  mkdir -p "$site"/wp-content/{uploads,plugins,themes/bare}
  printf '/*\nTheme Name: Bare\n*/\n' >"$site/wp-content/themes/bare/style.css"
  printf '<?php wp_head(); while (have_posts()) { the_post(); the_title("<h1>", "</h1>"); the_content(); }\n' \
    >"$site/wp-content/themes/bare/index.php"
  touch "$folder/unpacked"
fi

export PATH=$root/usr/bin:$root/usr/sbin:$PATH
libraries=$(find "$root/usr/lib" -maxdepth 1 -name '*-linux-gnu*' -print -quit)
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
php=$(command -v php || find "$root/usr/bin" -name 'php[0-9]*' -print -quit)
extensions=$(dirname "$(find "$root/usr/lib/php" /usr/lib/php -name mysqli.so -print -quit 2>/dev/null)")
{
  echo "extension_dir=$extensions"
  echo "memory_limit=256M"
  echo "upload_max_filesize=64M"
  echo "post_max_size=80M"
  for each in ctype exif fileinfo ftp gd iconv mbstring mysqlnd mysqli phar posix tokenizer xml dom simplexml xmlreader xmlwriter; do
    if [ -e "$extensions/$each.so" ]; then echo "extension=$each"; fi
  done
} >"$folder/php.ini"

# A socket's path may have no more than 107 bytes.
sockets=$(mktemp -d -t wordpress.XXXXXX)
echo "$sockets/s" >"$folder/socket"
base=/usr
if [ -x "$root/usr/sbin/mariadbd" ]; then base=$root/usr; fi
if [ ! -d "$folder/database/mysql" ]; then
  "$base/bin/mariadb-install-db" --no-defaults --basedir="$base" --datadir="$folder/database" --user="$(id -un)" \
    --auth-root-authentication-method=normal --skip-test-db >"$folder/database.log" 2>&1
fi
setsid mariadbd --no-defaults --basedir="$base" --datadir="$folder/database" --user="$(id -un)" --socket="$sockets/s" \
  --skip-networking --pid-file="$sockets/pid" --innodb-buffer-pool-size=32M --performance-schema=OFF \
  --innodb-flush-log-at-trx-commit=0 >>"$folder/database.log" 2>&1 </dev/null &
echo $! >"$folder/database.pid"
for _ in $(seq 600); do
  if mariadb --no-defaults -S "$sockets/s" -u root -e 'create database if not exists wordpress' 2>/dev/null; then break; fi
  if ! kill -0 "$(cat "$folder/database.pid")" 2>/dev/null; then tail -5 "$folder/database.log" >&2; exit 1; fi
  sleep 0.1
done

cat >"$site/wp-config.php" <<CONFIG
<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:$sockets/s');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
// Elsewhere than on a local site, application passwords want https.
define('WP_ENVIRONMENT_TYPE', 'local');
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('DISABLE_WP_CRON', true);
define('WP_HOME', '$url');
define('WP_SITEURL', '$url');
define('WP_DEFAULT_THEME', 'bare');
foreach (['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT'] as \$name) {
  define(\$name, hash('sha256', \$name . '$folder'));
}
\$table_prefix = 'wp_';
if (!defined('ABSPATH')) { define('ABSPATH', __DIR__ . '/'); }
require_once ABSPATH . 'wp-settings.php';
CONFIG
"$php" -n -c "$folder/php.ini" "$here/wordpress/install.php" "$site" "$folder/credentials.json" "$url" >"$folder/install.log" 2>&1

cd "$site"
PHP_CLI_SERVER_WORKERS=3 setsid "$php" -n -c "$folder/php.ini" -S "127.0.0.1:$port" -t "$site" "$here/wordpress/router.php" \
  >"$folder/php.log" 2>&1 </dev/null &
echo $! >"$folder/php.pid"
for _ in $(seq 300); do
  if curl --fail --silent --output /dev/null "$url/wp-json/"; then exit 0; fi
  sleep 0.2
done
tail -5 "$folder/php.log" >&2
exit 1
