#include "op_cases.h"
#include "op_misuse.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <minnow/autograd/engine.h>
#include <minnow/autograd/gradcheck.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

#include "deterministic.h"
#include "devices.h"
#include "on_device.h"
#include "sanitizer.h"

namespace minnow::test {
namespace {

enum class Layout { kContiguous, kPermuted, kStepped, kExpanded };
constexpr Layout kLayouts[] = {Layout::kContiguous, Layout::kPermuted, Layout::kStepped, Layout::kExpanded};
constexpr const char* kLayoutNames[] = {"contiguous", "permuted", "stepped", "expanded"};

std::string name_of(Layout layout) { return kLayoutNames[static_cast<std::size_t>(layout)]; }

/// x on the CPU, by other strides; of an expanded one the elements are not those of x.
Tensor laid_out(const Tensor& x, Layout layout) {
  if (x.dim() == 0 || layout == Layout::kContiguous) return x;
  Shape order, wide = x.shape();
  for (int d = x.dim() - 1; d >= 0; --d) order.push_back(d);
  switch (layout) {
    case Layout::kPermuted: return x.permute(order).contiguous().permute(order);
    case Layout::kStepped: {  // every second element of a row that begins with another
      wide[wide.rank() - 1] = 2 * wide[wide.rank() - 1] + 1;
      const Tensor larger = zeros(wide, x.dtype());
      const Tensor view = larger(ellipsis, slice(1, kToEnd, 2));
      copy_(view, x);
      return view;
    }
    default: return x.size(0) == 0 ? x : x.narrow(0, 0, 1).expand(x.shape());
  }
}

Tensor make(const Input& input, DType dtype, std::uint64_t seed) {
  RandomGenerator generator(seed);
  const auto whole = [&](std::int64_t first, std::int64_t end) {
    return randint(first, std::max(end, first + 1), input.shape, {DType::int64, {}, &generator});
  };
  if (input.kind == Input::Kind::kIndex) return whole(0, static_cast<std::int64_t>(input.high));
  if (input.kind == Input::Kind::kMask || dtype == DType::bool_) return whole(0, 2).to(DType::bool_);
  if (!is_floating_point(dtype)) return whole(input.first_integer, input.end_integer).to(dtype);
  const Tensor unit = rand(input.shape, {DType::float64, {}, &generator});
  return (unit * (input.high - input.low) + input.low).to(dtype);
}

bool is_value(const Input& input) { return input.kind == Input::Kind::kValues; }

std::string text_of(const Inputs& inputs) {
  std::string text;
  for (const Input& input : inputs) text += input.shape.str() + " ";
  return text;
}

/// Unsorted numbers: the gradients of the outputs.
Tensor weights(const Tensor& like) {
  RandomGenerator generator(99);
  return (rand(like.shape(), {DType::float64, {}, &generator}) + 0.5).to(like.dtype()).to(like.device());
}

struct Outcome {
  Tensors outputs, gradients;
};

Tensors call(const Function& function, const Tensors& x) {
  manual_seed(5);
  return function(x);
}

/// The outputs, and the gradients of those inputs that are floating-point values.
Outcome run(const OpCase& c, const Inputs& inputs, const Tensors& x, bool backward) {
  if (!backward) return {call(c.call, x), {}};
  Tensors leaves;
  for (const Tensor& t : x) {
    leaves.push_back(t.detach());
    if (is_value(inputs[leaves.size() - 1])) leaves.back().requires_grad_();
  }
  Outcome found{call(c.call, leaves), {}};
  Tensors recorded, arriving;
  for (const Tensor& y : found.outputs)
    if (y.requires_grad()) recorded.push_back(y), arriving.push_back(weights(y));
  if (!recorded.empty()) minnow::backward(recorded, arriving);
  for (const Tensor& leaf : leaves) found.gradients.push_back(leaf.grad());
  return found;
}

Tolerance larger(Tolerance t, double factor) { return {t.relative * factor, t.absolute * factor}; }

/// Compares the results of the CPU with those of a device, or of another layout.
void expect_same(const OpCase& c, const Outcome& got, const Outcome& want, Device device, const std::string& what) {
  // Where a library has algorithms with larger errors, or rounds before the bias is added.
  const double factor = device.is_cuda() && c.tolerance_on_cuda.absolute > 0 ? 16 : 1;
  ASSERT_EQ(got.outputs.size(), want.outputs.size()) << what;
  for (std::size_t i = 0; i < want.outputs.size(); ++i) {
    EXPECT_EQ(got.outputs[i].device(), device) << what;
    const Tensor w = want.outputs[i].detach();
    expect_close(got.outputs[i].detach().cpu(), w, what, larger(tolerance_of(w.dtype()), factor));
  }
  ASSERT_EQ(got.gradients.size(), want.gradients.size()) << what;
  for (std::size_t i = 0; i < want.gradients.size(); ++i) {
    const Tensor &g = got.gradients[i], &w = want.gradients[i];
    ASSERT_EQ(g.defined(), w.defined()) << what << ": gradient of input " << i;
    if (!w.defined()) continue;
    EXPECT_EQ(g.device(), device) << what;
    const std::string name = what + ": gradient of input " + std::to_string(i);
    expect_close(g.cpu(), w, name, larger(tolerance_of(w.dtype()), std::max(factor, is_half(w.dtype()) ? 8.0 : 4.0)));
  }
}

bool has_values(const OpCase& c) {
  return std::any_of(c.inputs.front().begin(), c.inputs.front().end(), [](const Input& i) { return is_value(i); });
}

/// The dtypes of the case; one dtype where no input depends on it.
std::vector<DType> dtypes_of(const OpCase& c) { return has_values(c) ? c.dtypes : std::vector{DType::float32}; }

void layouts(const OpCase& c, Device device) {
  for (const Inputs& inputs : c.inputs)
    for (const DType dtype : dtypes_of(c)) {
      const Tensors plain = make_inputs(inputs, dtype);
      const bool backward = c.gradient != Gradient::kNone && is_floating_point(dtype) && has_values(c);
      for (const Layout layout : kLayouts) {
        if (device.is_cpu() && layout == Layout::kContiguous) continue;
        Tensors x, want, there;
        for (const Tensor& t : plain) x.push_back(laid_out(t, layout));
        for (const Tensor& t : x) want.push_back(t.contiguous()), there.push_back(on_device(t, device));
        const std::string what =
            c.function + " " + text_of(inputs) + std::string(name_of(dtype)) + " " + name_of(layout);
        expect_same(c, run(c, inputs, there, backward), run(c, inputs, want, backward), device, what);
      }
    }
}

/// Joins all results of the case to one tensor.
Tensor single(const Tensors& outputs) {
  Tensors numbers;
  for (const Tensor& y : outputs)
    if (y.dtype() == DType::float64) numbers.push_back(y);
  if (numbers.size() == 1) return numbers[0];
  Tensor total = zeros({}, {DType::float64, outputs.at(0).device()});
  for (const Tensor& y : numbers) total = total + sum(y * weights(y));
  return total;
}

/// The gradient that is recorded, for a second derivative, is the one that is not.
void expect_same_when_recorded(const TensorFunction& function, const Tensors& x) {
  Tensors inputs;
  std::copy_if(x.begin(), x.end(), std::back_inserter(inputs), [](const Tensor& t) { return t.requires_grad(); });
  const auto gradients = [&](bool recorded) {
    return grad({sum(function(x))}, inputs, {.create_graph = recorded, .allow_unused = true});
  };
  const Tensors plain = gradients(false), recorded = gradients(true);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(plain[i].defined(), recorded[i].defined());
    if (plain[i].defined()) {
      EXPECT_TRUE(allclose(recorded[i].detach(), plain[i], 1e-9, 1e-12, true)) << "gradient " << i << " when recorded";
    }
  }
}

/// The weighted sum of the gradients of y's sum by those of `inputs` that have one.
Tensor sum_of_gradients(const Tensor& y, const Tensors& inputs) {
  Tensors leaves;
  std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(leaves),
               [](const Tensor& t) { return t.requires_grad(); });
  Tensor total;
  for (const Tensor& g : grad({sum(y)}, leaves, {.create_graph = true, .allow_unused = true}))
    if (g.defined()) total = total.defined() ? total + sum(g * weights(g)) : sum(g * weights(g));
  return total;
}

/// gradgradcheck.  With sanitizers the second derivatives once, without the differences: these call the same code again
/// for each element, which took a third of the time of all their tests and finds nothing more in memory.
void expect_second_derivatives(const TensorFunction& function, const Tensors& x) {
  if (kSpeedCounts) {
    EXPECT_TRUE(gradgradcheck(function, x));
  } else if (const Tensor total = sum_of_gradients(function(x), x); total.defined() && total.requires_grad()) {
    total.backward();
  }
}

/// The third derivatives: those of the gradient of the cube, which are not 0 of a linear function either.
void expect_third_derivative(const TensorFunction& function, const Tensors& x) {
  const TensorFunction gradient = [&](const Tensors& inputs) {
    const Tensor y = function(inputs);
    return sum_of_gradients(y * y * y, inputs);
  };
  // The gradient of a count (the norm of order 0) is 0 whatever x is.
  if (gradient(x).requires_grad()) expect_second_derivatives(gradient, x);
}

void gradients(const OpCase& c, Device device) {
  const Deterministic scope;  // gradgradcheck calls the function twice
  const TensorFunction function = [&c](const Tensors& x) { return single(call(c.call, x)); };
  bool first = true;
  for (const Inputs& inputs : c.inputs) {
    if (std::any_of(inputs.begin(), inputs.end(), [](const Input& x) { return x.shape.numel() == 0; })) continue;
    const auto leaves = [&](Layout layout) {
      Tensors x;
      for (const Tensor& t : make_inputs(inputs, DType::float64)) {
        x.push_back(on_device(laid_out(t, layout), device).detach());
        if (is_value(inputs[x.size() - 1])) x.back().requires_grad_();
      }
      return x;
    };
    if (c.gradient == Gradient::kNone) {
      for (const Tensor& y : call(c.call, leaves(Layout::kContiguous)))
        EXPECT_FALSE(y.requires_grad()) << text_of(inputs);
      continue;
    }
    SCOPED_TRACE(text_of(inputs));
    EXPECT_TRUE(gradcheck(function, leaves(Layout::kContiguous)));
    if (c.gradient == Gradient::kAny) {
      // Of a linear function all second derivatives would be 0.
      const TensorFunction squared = [&](const Tensors& x) {
        const Tensor y = function(x);
        return y * y;
      };
      expect_second_derivatives(squared, leaves(Layout::kContiguous));
      expect_same_when_recorded(squared, leaves(Layout::kContiguous));
      if (first) expect_third_derivative(function, leaves(Layout::kContiguous));
    }
    if (first) { EXPECT_TRUE(gradcheck(function, leaves(Layout::kPermuted))); }
    first = false;
  }
}

/// "reduce: sum/1" -> the book's name and the case's.
std::pair<std::string, std::string> golden_name(const std::string& text) {
  const std::size_t colon = text.find(": ");
  if (colon == std::string::npos) throw ValueError("no book in '" + text + "'");
  return {text.substr(0, colon), text.substr(colon + 2)};
}

const Book& book(const std::string& name, Device device) {
  static auto* open = new std::map<std::pair<std::string, std::string>, Book>;
  const auto key = std::pair(name, device.str());
  const auto found = open->find(key);
  return found != open->end() ? found->second : open->emplace(key, Book(name, device)).first->second;
}

/// The cases of a book that a row means: "exp" is also "exp:special" and "exp:int64".
std::vector<std::string> meant(const Book& book, const std::string& name) {
  std::vector<std::string> found;
  for (const std::string& other : book.cases())
    if (other == name || other.starts_with(name + ":")) found.push_back(other);
  return found;
}

void golden(const OpCase& c, Device device) {
  for (const std::string& text : c.golden) {
    const auto [file, name] = golden_name(text);
    const std::vector<std::string> names = meant(book(file, device), name);
    if (names.empty()) ADD_FAILURE() << "there are no golden values '" << text << "'";
    const bool other = device.is_cuda() && c.tolerance_on_cuda.absolute > 0;
    for (const std::string& each : names)
      expect_golden(book(file, device), each, c.call, other ? c.tolerance_on_cuda : c.tolerance);
  }
}

void same(const OpCase& c, Device device) {
  for (const Inputs& inputs : c.inputs)
    for (const DType dtype : dtypes_of(c)) {
      Tensors x;
      for (const Tensor& t : make_inputs(inputs, dtype)) x.push_back(t.to(device));
      const Tensors got = call(c.call, x), want = call(c.same_as, x);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < want.size(); ++i) expect_close(got[i], want[i], text_of(inputs), {});
    }
}

template <class E, class F> void expect_refused(const F& call, Device device, const std::string& what) {
  try {
    call();
    synchronize(device);
    ADD_FAILURE() << what << " is accepted";
  } catch (const E&) {
  } catch (const std::exception& error) { ADD_FAILURE() << what << ": " << error.what(); }
}

/// In a narrower type the result is that of double precision, rounded; of float32 the gradients are as well.
void precision(const OpCase& c) {
  for (const Inputs& inputs : c.inputs)
    for (const DType dtype : c.dtypes) {
      if (!is_floating_point(dtype) || dtype == DType::float64) continue;
      const Tensors x = make_inputs(inputs, dtype);
      Tensors wide;
      for (const Tensor& t : x) wide.push_back(t.is_floating_point() ? t.to(DType::float64) : t);
      const bool backward = dtype == DType::float32 && c.gradient != Gradient::kNone;
      const Outcome got = run(c, inputs, x, backward), want = run(c, inputs, wide, backward);
      const std::string what = text_of(inputs) + std::string(name_of(dtype));
      const auto expect = [&](const Tensor& g, const Tensor& w, double factor) {
        expect_close(g.detach(), w.detach().to(g.dtype()), what, larger(tolerance_of(dtype), factor));
      };
      for (std::size_t i = 0; i < want.outputs.size(); ++i)
        expect(got.outputs.at(i), want.outputs[i], is_half(dtype) ? 4 : 2);
      for (std::size_t i = 0; i < want.gradients.size(); ++i)
        if (want.gradients[i].defined()) expect(got.gradients.at(i), want.gradients[i], 10);
    }
}

void dtypes(const OpCase& c, Device device) {
  if (!has_values(c)) return;
  if (device.is_cpu() && c.exact) precision(c);
  if (c.takes_other_dtypes) return;
  for (const DType dtype : all_dtypes()) {
    if (std::find(c.dtypes.begin(), c.dtypes.end(), dtype) != c.dtypes.end()) continue;
    Tensors x;
    for (const Tensor& t : make_inputs(c.inputs.front(), dtype)) x.push_back(t.to(device));
    expect_refused<DTypeError>([&] { call(c.call, x); }, device, std::string(name_of(dtype)));
  }
}

void refused_on(const OpCase& c, Device device) {
  Tensors x;
  for (const Tensor& t : make_inputs(c.inputs.front(), dtypes_of(c).front())) x.push_back(t.to(device));
  expect_refused<DeviceError>([&] { call(c.call, x); }, device, "on " + device.str());
}

void bad_inputs(const OpCase& c, Device device) {
  Tensors x;
  for (const Tensor& t : make_inputs(c.inputs.front(), dtypes_of(c).front())) x.push_back(t.to(device));
  const Device other = device.is_cpu() ? Device(DeviceType::sim) : Device();
  for (std::size_t i = 0; i < x.size(); ++i) {
    Tensors bad = x;
    const std::string input = "input " + std::to_string(i);
    bad[i] = Tensor();
    if (i < c.optional_from) expect_refused<ValueError>([&] { call(c.call, bad); }, device, "undefined " + input);
    if (x.size() == 1 || x[i].dim() == 0 || c.takes_other_devices) continue;
    bad[i] = x[i].to(other);
    expect_refused<DeviceError>([&] { call(c.call, bad); }, device, input + " on " + other.str());
  }
}

/// A test that is a function.
class OpTest : public ::testing::Test {
 public:
  explicit OpTest(std::function<void()> body) : body_(std::move(body)) {}
  void TestBody() override {
    try {
      body_();
    } catch (const Error& error) { ADD_FAILURE() << error.what(); }
  }

 private:
  std::function<void()> body_;
};

void add_test(const std::string& suite, const std::string& name, std::function<void()> body) {
  ::testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [body = std::move(body)]() -> ::testing::Test* { return new OpTest(body); });
}

using Check = void (*)(const OpCase&, Device);

void add_check(const std::string& suite, const char* check_name, Check check, const std::vector<const OpCase*>& rows) {
  if (rows.empty()) return;
  for (const Device& device : test_devices()) {
    const std::string name = std::string(check_name) + "/" + device_name(device);
    add_test(suite, name, [=] {
      for (const OpCase* row : rows) {
        SCOPED_TRACE(row->function + " " + row->variant);
        if (device.is_cuda() && !row->on_cuda) refused_on(*row, device);
        else check(*row, device);
      }
    });
  }
}

std::vector<OpCases (*)()>& makers() {
  static auto* list = new std::vector<OpCases (*)()>;
  return *list;
}

void every_golden_case_belongs_to_a_row() {
  std::map<std::string, std::set<std::string>> used;
  for (const OpCase& c : op_cases())
    for (const std::string& text : c.golden) {
      const auto [file, name] = golden_name(text);
      const std::vector<std::string> names = meant(book(file, {}), name);
      used[file].insert(names.begin(), names.end());
    }
  for (const auto& [file, names] : used)
    for (const std::string& name : book(file, {}).cases())
      if (!names.contains(name)) ADD_FAILURE() << "no row has the golden values " << file << ": " << name;
}

void every_function_has_golden_values() {
  std::set<std::string> without, with;
  for (const OpCase& c : op_cases())
    (c.golden.empty() && c.without_golden.empty() && !c.same_as ? without : with).insert(c.function);
  for (const std::string& name : without)
    if (!with.contains(name))
      ADD_FAILURE() << name << " has no golden values: write them in tests/golden/make_*.py, or say why there are none";
}

}  // namespace

Input Input::integers(std::int64_t first, std::int64_t end) const {
  Input x = *this;
  x.first_integer = first;
  x.end_integer = end;
  return x;
}

Input values(const Shape& shape, double low, double high) { return {shape, low, high}; }
Input indices(const Shape& shape, std::int64_t size) {
  return {shape, 0, static_cast<double>(size), Input::Kind::kIndex};
}
Input mask(const Shape& shape) { return {shape, 0, 1, Input::Kind::kMask}; }

std::vector<DType> floating_point_dtypes() { return {DType::float32, DType::float64, DType::float16, DType::bfloat16}; }
std::vector<DType> integral() { return {DType::int64, DType::int32, DType::int16, DType::int8, DType::uint8}; }
std::vector<DType> numbers() {
  std::vector<DType> both = floating_point_dtypes();
  for (const DType dtype : integral()) both.push_back(dtype);
  return both;
}
std::vector<DType> all_dtypes() {
  std::vector<DType> all = numbers();
  all.push_back(DType::bool_);
  return all;
}

Tensors make_inputs(const Inputs& inputs, DType dtype) {
  Tensors made;
  for (const Input& input : inputs) made.push_back(make(input, dtype, 11 + made.size()));
  return made;
}

Register::Register(OpCases (*make)()) { makers().push_back(make); }

const OpCases& op_cases() {
  static const auto* all = [] {
    auto* rows = new OpCases;
    for (OpCases (*make)() : makers())
      for (OpCase& row : make()) rows->push_back(std::move(row));
    return rows;
  }();
  return *all;
}

void register_op_tests() {
  std::map<std::string, std::vector<const OpCase*>> functions;
  for (const OpCase& row : op_cases()) functions[row.function].push_back(&row);
  for (const auto& [name, rows] : functions) {
    const auto those = [&all = rows](auto&& wanted) {
      std::vector<const OpCase*> some;
      for (const OpCase* row : all)
        if (wanted(*row)) some.push_back(row);
      return some;
    };
    add_check(name, "golden", golden, those([](const OpCase& c) { return !c.golden.empty(); }));
    add_check(name, "gradients", gradients, those([](const OpCase& c) {
                const bool doubles = std::count(c.dtypes.begin(), c.dtypes.end(), DType::float64) > 0;
                return doubles && has_values(c) && c.gradient != Gradient::kUnchecked;
              }));
    add_check(name, "layouts", layouts, rows);
    add_check(name, "same", same, those([](const OpCase& c) { return c.same_as != nullptr; }));
    add_check(name, "dtypes", dtypes, rows);
    add_check(name, "bad_inputs", bad_inputs, rows);
    add_check(name, "misuse", misuse, rows);
  }
  add_test("op_cases", "every_golden_case_belongs_to_a_row", every_golden_case_belongs_to_a_row);
  add_test("op_cases", "every_function_has_golden_values", every_function_has_golden_values);
}

}  // namespace minnow::test
