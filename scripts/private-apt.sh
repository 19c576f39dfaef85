# SPDX-License-Identifier: BSD-2-Clause
#
# Sourced by scripts that get something from another Debian suite: apt with a list of sources, of package lists and a cache of its own in the folder
# $temporary. It takes the mirror and the keys that this machine's apt has; the machine's own configuration is neither changed nor updated.

# apt-get or apt-cache (the first argument) with that configuration.
private_apt() {
    program=$1
    shift
    "$program" -q -o Dir::Etc::SourceList="$temporary/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::Etc::Preferences=- -o Dir::Etc::PreferencesParts=- \
        -o Dir::State::Lists="$temporary/lists" -o Dir::Cache="$temporary/cache" \
        -o APT::Sandbox::User= -o Acquire::Languages=none "$@"
}

# The mirror of the main archive, not that of security updates, which has other suites. Empty if there is none.
debian_mirror() {
    apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | grep -v -e security -e updates -e backports | sed -n '1s/ .*//p'
}

# Reads the package lists of a suite: read_suite deb|deb-src MIRROR SUITE. What apt says goes to $temporary/apt.log.
read_suite() {
    rm -rf "$temporary/lists" "$temporary/cache"
    mkdir -p "$temporary/lists/partial" "$temporary/cache/archives/partial"
    echo "$1 $2 $3 main" >"$temporary/sources.list"
    private_apt apt-get update >"$temporary/apt.log" 2>&1
}
