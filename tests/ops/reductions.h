#pragma once

#include <string>
#include <utility>
#include <minnow/nn/losses/loss.h>

namespace minnow::test {

/// Their names in the files of golden values.
inline const std::pair<std::string, nn::Reduction> kReductions[] = {
    {"mean", nn::Reduction::mean}, {"sum", nn::Reduction::sum}, {"none", nn::Reduction::none}};

}  // namespace minnow::test
