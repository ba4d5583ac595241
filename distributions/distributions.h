#pragma once
// All of minnow::distributions.

#include <minnow/distributions/continuous.h>
#include <minnow/distributions/discrete.h>
#include <minnow/distributions/distribution.h>
#include <minnow/distributions/gamma.h>
#include <minnow/distributions/multivariate_normal.h>
