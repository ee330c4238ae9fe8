#!/bin/sh
# Installs what `make demo`, `make test` and `make lint` need and is missing: Debian packages, the Python packages of
# requirements.lock in .venv, the client that is made from the services' APIs, and the code of the console's templates. Does
# nothing, quickly, when nothing has changed.
#
#   deploy/local/setup.sh python                      the Python packages only
#   deploy/local/setup.sh servers                     and RabbitMQ and PostgreSQL
#   deploy/local/setup.sh servers browser tools       and what tests take: Chromium for pages, promtool and amtool for alerts,
#                                                     Caddy for the door of the containers, npm for axe and html-validate
#
# PYTHON names the interpreter to make .venv with; Python 3.11 or later. It is for Debian 12 and 13 and Ubuntu 24.04, in WSL 2 too; elsewhere it
# says what to do instead.
set -eu
cd "$(dirname "$0")/../.."

# Every folder of the workspace that is a package.
members=$(for each in shared/* services/* cli tests/fakes tests/faults benchmarks examples/*; do
    [ ! -f "$each/pyproject.toml" ] || printf '%s ' "$each"
done)

say() { printf '%s\n' "$*" >&2; }

# -- Debian packages ---------------------------------------------------------------------------------------------------

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        say "Missing Debian packages must be installed, which takes root: $packages"
        say "As root, run: deploy/local/setup.sh $wanted"
        exit 1
    fi
}

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

have_one_of() {
    for path in "$@"; do [ -e "$path" ] && return 0; done
    return 1
}

missing_packages() {
    [ "$(uname -s)" = Linux ] || return 0
    command -v make >/dev/null 2>&1 || echo make
    command -v setpriv >/dev/null 2>&1 || echo util-linux
    if [ ! -x .venv/bin/python ] && ! find_python >/dev/null; then echo python3 python3-venv; fi
    case " $wanted " in *" servers "*)
        have_one_of /usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server \
            || command -v rabbitmq-server >/dev/null 2>&1 || echo rabbitmq-server
        have_one_of /usr/lib/postgresql/*/bin/initdb || echo postgresql  # the release's own version
    esac
    case " $wanted " in *" browser "*)
        command -v chromium >/dev/null 2>&1 || echo chromium
        # What drives the browser is linked against it, and its Python package cannot ask for it.
        have_one_of /usr/lib/*/libatomic.so.1 /lib/*/libatomic.so.1 || echo libatomic1
    esac
    case " $wanted " in *" tools "*)
        command -v promtool >/dev/null 2>&1 || echo prometheus
        command -v amtool >/dev/null 2>&1 || echo prometheus-alertmanager
        command -v caddy >/dev/null 2>&1 || echo caddy
        command -v npm >/dev/null 2>&1 || echo npm
    esac
}

# `ubuntu`, `debian`; empty where nobody says. OS_RELEASE is for tests.
distribution() { sed -n 's/^ID=//p' "${OS_RELEASE:-/etc/os-release}" 2>/dev/null | tr -d '"'; }

install_packages() {
    packages=$*
    command -v apt-get >/dev/null 2>&1 || {
        say "This machine has no apt-get. Please install what these packages of Debian hold: $packages"
        say "Or run everything in containers, which takes Docker alone: make up"
        exit 1
    }
    if [ "$(distribution)" = ubuntu ]; then
        case " $packages " in *" chromium "*)
            say "Ubuntu has Chromium as a snap alone, which apt-get does not install. Please run: sudo snap install chromium"
            others=$(printf '%s ' $packages | sed 's/chromium //')
            [ -z "$others" ] || say "and: sudo apt-get install --no-install-recommends $others"
            say "Then run again what you have run. For everything but tests no browser is needed."
            exit 1
        esac
    fi
    say "Installing Debian packages: $packages"
    as_root env DEBIAN_FRONTEND=noninteractive APT_LISTCHANGES_FRONTEND=none sh deploy/local/install-packages.sh "$@"
}

# Where this script cannot help: says what can.
check_system() {
    case $(uname -s) in
    Linux) ;;
    Darwin)
        [ "$wanted" = python ] && return  # linting and types go there, too
        say "On macOS, demo and tests do not run by themselves: they start servers as Debian has them, and end them as Linux can."
        say "Run everything in containers, with Docker Desktop, OrbStack or Colima: make up"
        say "For demo and tests take a virtual machine with Debian 13, such as: brew install lima; limactl start template://debian-13"
        exit 1
        ;;
    *)
        say "On $(uname -s), this does not run. On Windows, take WSL 2: wsl --install --distribution Debian"
        say "Or run everything in containers, which takes Docker alone: make up"
        exit 1
        ;;
    esac
    case $(uname -r) in *[Mm]icrosoft*)
        case $(pwd -P) in /mnt/[a-z]/*)
            say "This checkout lies on a disk of Windows, where files have no owners and are slow: servers do not start there."
            say "Clone it in the file system of WSL: git clone … ~/brand-engine"
            exit 1
        esac
    esac
}

# -- Python packages ---------------------------------------------------------------------------------------------------

# A Python that can make a virtual environment: Debian ships that ability in a package of its own.
find_python() {
    for candidate in ${PYTHON:-python3.11 python3 python3.12 python3.13 python3.14}; do
        if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

fingerprint() {
    # shellcheck disable=SC2086 # a list of words
    cat requirements.lock deploy/local/setup.sh $(printf '%s/pyproject.toml ' $members) | sha256sum
}

install_python() {
    [ "$(cat .venv/setup.stamp 2>/dev/null)" = "$(fingerprint)" ] && .venv/bin/python -c '' 2>/dev/null && return
    # One at a time: two targets may be started side by side.
    exec 9>.venv.lock
    if command -v flock >/dev/null 2>&1; then flock 9; fi
    [ "$(cat .venv/setup.stamp 2>/dev/null)" = "$(fingerprint)" ] && .venv/bin/python -c '' 2>/dev/null && return
    if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
        python=$(find_python) || { say "No Python 3.11 or later with venv was found; on Debian: python3-venv"; exit 1; }
        say "Creating .venv with $python"
        "$python" -m venv --clear .venv
    fi
    say "Installing Python packages"
    pip="env PIP_DISABLE_PIP_VERSION_CHECK=1 .venv/bin/python -m pip install --quiet --no-input"
    $pip --require-hashes --requirement requirements.lock
    # Built with the hatchling of the lock, so that nothing is fetched that the lock does not name.
    # shellcheck disable=SC2046,SC2086 # lists of words
    $pip --no-deps --no-build-isolation $(printf -- '--editable ./%s ' $members)
    fingerprint >.venv/setup.stamp
}

# What the client of the services' APIs is made from: whatever may change their documents.
api_fingerprint() {
    find services/*/src shared/*/src -name '*.py' ! -path 'shared/client/src/client/services/*' -print \
        | LC_ALL=C sort | xargs cat requirements.lock | sha256sum
}

# The client that is used is made, and not in the repository: deploy/local/setup.sh makes it anew when the services have changed.
make_client() {
    made=shared/client/src/client/services
    now=$(api_fingerprint)
    [ "$(cat "$made/stamp" 2>/dev/null)" = "$now" ] && return
    exec 9>.venv.lock
    if command -v flock >/dev/null 2>&1; then flock 9; fi
    [ "$(cat "$made/stamp" 2>/dev/null)" = "$now" ] && return
    say "Making the client of the services' APIs"
    .venv/bin/python -m client.generator
    printf '%s\n' "$now" >"$made/stamp"
}

# The code of the console's templates, which Python makes of modules alone.
compile_templates() {
    made=services/console/src/console/__pycache__/templates
    now=$({ find services/console/src/console/templates -type f -print | LC_ALL=C sort | xargs cat requirements.lock
        .venv/bin/python -VV; } | sha256sum)
    [ "$(cat "$made.stamp" 2>/dev/null)" = "$now" ] && return
    exec 9>.venv.lock
    if command -v flock >/dev/null 2>&1; then flock 9; fi
    .venv/bin/python -m console.compile_templates
    printf '%s\n' "$now" >"$made.stamp"
}

# ----------------------------------------------------------------------------------------------------------------------

wanted="${*:-servers}"
check_system
# shellcheck disable=SC2046 # a list of words
set -- $(missing_packages)
[ $# -eq 0 ] || install_packages "$@"
install_python
make_client
compile_templates
