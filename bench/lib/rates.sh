# shellcheck shell=bash
# How much per second, everything as it should be.

measure_rates() {
  interleave single 8 "$ready"
  interleave batch 2 "$ready"
  interleave submit 8 0
  interleave bulk 2 0
  interleave heartbeat 8 10000
}
