# shellcheck shell=bash
# Roots of other Debians, by debootstrap: made and entered as root, with the right to mount.

# Also for a suite that this debootstrap does not know.
make_base_root() { # ROOT SUITE MIRROR
  rm -rf "$1.new"
  # The script for sid is that of every newer suite.
  run_group unshare --mount --pid --fork --kill-child debootstrap --variant=minbase "$2" "$1.new" "$3" sid || return
  mv "$1.new" "$1"
}

# The mirror of Debian itself, or that of its security updates, from the configuration of apt.
mirror_of_debian() { # [LABEL]
  local mirror label=${1:-Debian}
  for _ in before after; do
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' "Label: $label" | head -n 1)
    [[ -z $mirror ]] || break
    apt_update >&2 || return
  done
  [[ -n $mirror ]] || { echo "apt knows no mirror of $label" && return 1; }
  echo "$mirror"
}

# Configures apt and dpkg in a root: they use the package sources of this machine, and start no service.
set_up_apt() { # ROOT MIRROR SUITE...
  local root=$1 mirror=$2
  shift 2
  printf "deb $mirror %s main\n" "$@" >"$root/etc/apt/sources.list"
  # An expired index is accepted.
  {
    apt-config dump | grep '^Acquire::http' || true
    printf '%s\n' 'Acquire::Check-Valid-Until "false";' 'Acquire::Check-Date "false";' 'Acquire::Languages "none";'
  } >"$root/etc/apt/apt.conf.d/00scylla"
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
}

# Runs a command in a root, in namespaces of its own: when it ends, all mounts and processes are removed.
run_in() { # ROOT FOLDER COMMAND...
  # shellcheck disable=SC2016 # expanded there
  run_group unshare --mount --pid --ipc --fork --kill-child bash -euc '
    root=$1 folder=$2; shift 2
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    # Certificates that Node.js is told of here are those of a proxy.
    [[ -z ${NODE_EXTRA_CA_CERTS-} ]] || cp "$NODE_EXTRA_CA_CERTS" "$root/certificates"
    exec chroot "$root" env -i -C "$folder" ${NODE_EXTRA_CA_CERTS:+NODE_EXTRA_CA_CERTS=/certificates} HOME=/root TERM=dumb \
      PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
  ' enter "$@"
}
