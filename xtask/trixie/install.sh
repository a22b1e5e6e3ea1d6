#!/bin/sh
# Unpacks Redis 8.0, Valkey 8.1 and Prometheus of Debian 13 into the current folder, with every library they need. Needs no root
# and installs nothing on the system.
set -eu
apt=$PWD/apt
mkdir -p apt/etc/apt/preferences.d apt/lists/partial apt/archives/partial
echo 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main' >apt/etc/apt/sources.list
: >apt/status # nothing is installed, so that apt-get downloads all dependencies

private_apt_get() {
    apt-get -qq -o Dir="$apt" -o Dir::State="$apt" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt" \
        -o APT::Update::Error-Mode=any -o Debug::NoLocking=true -o APT::Sandbox::User= -o Acquire::Languages=none -o Acquire::Retries=1 "$@"
}
private_apt_get update
private_apt_get install --yes --no-install-recommends --download-only redis-server valkey-server prometheus
for package in apt/archives/*.deb; do
    dpkg-deb --extract "$package" .
done
rm -r apt

# The programs need the libraries of their release, which their loader finds.
for program in redis-server valkey-server prometheus promtool; do
    cat >"$program" <<'SCRIPT'
#!/bin/sh
lib=$(echo "${0%/*}"/usr/lib/*-linux-gnu)
exec "$lib"/ld-linux*.so.* --library-path "$lib" "${0%/*}/usr/bin/${0##*/}" "$@"
SCRIPT
    chmod +x "$program"
done
