#pragma once

// All of minnow::distributed.
#include <minnow/distributed/collectives.h>
#include <minnow/distributed/data_parallel.h>
#include <minnow/distributed/metrics.h>
#include <minnow/distributed/process.h>
#include <minnow/distributed/sharded.h>
