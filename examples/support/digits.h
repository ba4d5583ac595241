#pragma once

#include <cstdint>
#include <iostream>
#include <string>
#include <minnow/minnow.h>

struct Digits {
  minnow::data::ImageDataset train, test;
};

/// MNIST from a folder, or `synthetic` digits, which need no files: so many, and a sixth of that.
inline Digits open_digits(const std::string& root, std::int64_t synthetic) {
  using namespace minnow;
  if (synthetic > 0) {
    std::cout << "data      synthetic digits (no MNIST files: --synthetic)\n";
    return {data::SyntheticDigits(synthetic, {.seed = 1, .normalize_on_device = true}),
            data::SyntheticDigits(synthetic / 6, {.seed = 1, .first = 1'000'000, .normalize_on_device = true})};
  }
  const data::MnistOptions options{.root = root, .normalize_on_device = true};
  Digits digits{data::mnist("train", options), data::mnist("test", options)};
  std::cout << "data      MNIST, " << digits.train.size() << " + " << digits.test.size() << " images\n";
  return digits;
}
