#pragma once

#include <algorithm>
#include <minnow/tensor/kernels/list.h>
#include <minnow/tensor/kernels/rules/adadelta.h>
#include <minnow/tensor/kernels/rules/adagrad.h>
#include <minnow/tensor/kernels/rules/adam.h>
#include <minnow/tensor/kernels/rules/adamax.h>
#include <minnow/tensor/kernels/rules/asgd.h>
#include <minnow/tensor/kernels/rules/lion.h>
#include <minnow/tensor/kernels/rules/nadam.h>
#include <minnow/tensor/kernels/rules/radam.h>
#include <minnow/tensor/kernels/rules/rmsprop.h>
#include <minnow/tensor/kernels/rules/rprop.h>
#include <minnow/tensor/kernels/rules/sgd.h>

namespace minnow::detail::kernels {

/// All rules.  A rule's index in this list is its number.
using UpdateRules = List<SgdRule, AdamRule<false>, AdamRule<true>, RmspropRule, LionRule, AdagradRule, AdadeltaRule,
                         AdamaxRule, NadamRule, RadamRule, RpropRule, AsgdRule>;

template <class Rules> inline constexpr int kMaxStates = 0;
template <class... Rules> inline constexpr int kMaxStates<List<Rules...>> = std::max({kNumStates<Rules>...});

}  // namespace minnow::detail::kernels
