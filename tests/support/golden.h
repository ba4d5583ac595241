#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <vector>
#include <minnow/tensor/in.h>
#include <minnow/tensor/io/safetensors.h>

namespace minnow::test {

/// How far a result may be from PyTorch's: |got - want| <= absolute + relative |want|.
struct Tolerance {
  double relative = 0, absolute = 0;
};

/// What torch.testing.assert_close allows for a dtype.
Tolerance tolerance_of(DType dtype);

/// Equal dtype, shape and device, and values within the tolerance; NaN equals NaN.
void expect_close(const Tensor& got, const Tensor& want, const std::string& what, Tolerance tolerance);
inline void expect_close(const Tensor& got, const Tensor& want, const std::string& what) {
  expect_close(got, want, what, tolerance_of(want.dtype()));
}

/// A file that make_golden.py wrote, on a device.
class Book {
 public:
  Book(const std::string& file, Device device);

  bool contains(const std::string& name) const;
  /// A new tensor each time.
  Tensor operator[](const std::string& name) const;
  Device device() const { return device_; }
  /// Names of the cases that have inputs, "a/in0" -> "a".
  std::set<std::string> cases() const;

 private:
  Device device_;
  StateDict tensors_;
  Metadata same_;
};

/// What a case computes from in0, in1, ...: out0, out1, ...
using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// Runs one case of the book forward and backward and compares.  `tolerance`: {} is that of the dtype.
void expect_golden(const Book& book, const std::string& name, const Function& function, Tolerance tolerance = {});

}  // namespace minnow::test
