#include "golden.h"

#include <cmath>
#include <minnow/tensor/error.h>

namespace minnow::test {
namespace {

bool close(double got, double want, Tolerance tolerance) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want)) return got == want;
  return std::abs(got - want) <= tolerance.absolute + tolerance.relative * std::abs(want);
}

std::string numbered(const std::string& name, const char* what, std::size_t i) {
  return name + "/" + what + std::to_string(i);
}

}  // namespace

void expect_golden(const Book& book, const std::string& name, const Function& function, Tolerance tolerance) {
  std::vector<Tensor> inputs;
  while (book.contains(numbered(name, "in", inputs.size()))) {
    inputs.push_back(book[numbered(name, "in", inputs.size())]);
    if (book.contains(numbered(name, "grad", inputs.size() - 1))) inputs.back().requires_grad_();
  }
  const auto expect = [&](const Tensor& got, const std::string& what) {
    const Tensor want = book[what];
    const bool by_default = tolerance.relative == 0 && tolerance.absolute == 0;
    expect_close(got, want, what, by_default ? tolerance_of(want.dtype()) : tolerance);
  };
  const std::vector<Tensor> outputs = function(inputs);
  for (std::size_t i = 0; book.contains(numbered(name, "out", i)); ++i) {
    ASSERT_LT(i, outputs.size()) << name;
    expect(outputs[i], numbered(name, "out", i));
  }
  if (!book.contains(name + "/grad_out")) return;
  outputs[0].backward(book[name + "/grad_out"]);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string what = numbered(name, "grad", i);
    if (!book.contains(what)) continue;
    if (inputs[i].grad().defined()) expect(inputs[i].grad(), what);
    else ADD_FAILURE() << what << ": no gradient arrived";
  }
}

Tolerance tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::float64: return {1e-7, 1e-7};
    case DType::float32: return {1.3e-6, 1e-5};
    case DType::float16: return {1e-3, 1e-5};
    case DType::bfloat16: return {1.6e-2, 1e-5};
    default: return {0, 0};
  }
}

void expect_close(const Tensor& got, const Tensor& want, const std::string& what, Tolerance tolerance) {
  ASSERT_TRUE(got.defined()) << what;
  EXPECT_EQ(got.device(), want.device()) << what;
  EXPECT_EQ(got.dtype(), want.dtype()) << what << ": " << name_of(got.dtype()) << " instead of "
                                       << name_of(want.dtype());
  ASSERT_EQ(got.shape().str(), want.shape().str()) << what;
  const std::vector<double> g = got.to_vector<double>(), w = want.to_vector<double>();
  for (std::size_t i = 0; i < w.size(); ++i)
    ASSERT_TRUE(close(g[i], w[i], tolerance)) << what << ": element " << i << " is " << g[i] << " instead of " << w[i]
                                              << " (off by " << std::abs(g[i] - w[i]) << ")";
}

Book::Book(const std::string& file, Device device)
    : device_(device),
      tensors_(load(std::string(MINNOW_TEST_DIR "/golden/") + file + ".safetensors")),
      same_(load_metadata(std::string(MINNOW_TEST_DIR "/golden/") + file + ".safetensors")) {}

bool Book::contains(const std::string& name) const { return tensors_.contains(name) || same_.contains(name); }

Tensor Book::operator[](const std::string& name) const {
  const auto same = same_.find(name);
  return tensors_.at(same == same_.end() ? name : same->second).to(device_, {.copy = true});
}

std::set<std::string> Book::cases() const {
  std::set<std::string> names;
  const auto add = [&names](const std::string& name) {
    if (name.ends_with("/in0")) names.insert(name.substr(0, name.size() - 4));
  };
  for (const auto& [name, tensor] : tensors_) add(name);
  for (const auto& [name, first] : same_) add(name);
  return names;
}

}  // namespace minnow::test
