/// @file scylla.h
/// All of the library but the optional adapters.
#ifndef SCYLLA_SCYLLA_H
#define SCYLLA_SCYLLA_H

#include <scylla/client.h>
#include <scylla/error.h>
#include <scylla/pool.h>
#include <scylla/types.h>
#include <scylla/worker.h>

#endif
