// The monitor: background workers that do what time asks for. One launcher per server finds the databases that have the
// extension and keeps a monitor in each, up to scylla.max_monitors at once; beyond that they take turns.
#pragma once

namespace scylla::monitor {

// While preloading: registers the launcher, and the hook that keeps monitors out of the way of DROP DATABASE and its like.
void install();

// That hook (utility_hook.cpp).
void install_utility_hook();

} // namespace scylla::monitor
