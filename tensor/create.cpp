#include <minnow/tensor/create.h>

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/checked.h>
#include <minnow/tensor/dtype_switch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/runtime/capture_rules.h>

namespace minnow {
namespace {

RandomGenerator& generator_of(const RandomOptions& options) {
  return options.generator ? *options.generator : default_generator();
}

/// How many 32-bit numbers are drawn: two for each float64.
std::int64_t numbers_drawn(const Tensor& t) { return t.dtype() == DType::float64 ? 2 * t.numel() : t.numel(); }

/// That of rand and randn.
DType floating(const RandomOptions& options) {
  const DType dtype = options.dtype.value_or(DType::float32);
  if (!is_floating_point(dtype))
    throw DTypeError(message("cannot draw " + std::string(name_of(dtype)) + " numbers", {},
                             "choose a floating-point dtype, or randint for integers"));
  return dtype;
}

/// Up to 2^bits a dtype holds all integers: but for the integers' largest, 2^bits itself.
int integer_bits(DType dtype) {
  switch (dtype) {
    case DType::float32: return 24;
    case DType::float64: return 53;
    case DType::float16: return 11;
    case DType::bfloat16: return 8;
    case DType::int32: return 31;
    case DType::int16: return 15;
    case DType::int8: return 7;
    case DType::uint8: return 8;
    case DType::bool_: return 1;
    default: return 63;
  }
}

/// int64 numbers in the dtype and on the device that the options ask for.
Tensor as_asked(const Tensor& integers, const RandomOptions& options) {
  const DType dtype = options.dtype.value_or(DType::int64);
  if (dtype == DType::int64 && integers.device() == options.device) return integers;
  return raw::copy_to(integers, empty(integers.shape(), {dtype, options.device}));
}

}  // namespace

Tensor empty(const Shape& shape, const TensorOptions& options, SourceLocation where) {
  const CallSite site("empty", where);
  return raw::allocate(shape, contiguous_strides(shape), options.dtype.value_or(DType::float32), options.device,
                       options.pinned);
}

Tensor empty_strided_like(const Shape& shape, const Strides& like, DType dtype, Device device, SourceLocation where) {
  const CallSite site("empty", where);
  return raw::allocate(shape, strides_like(shape, like), dtype, device, false);
}

Tensor full(const Shape& shape, Scalar value, const TensorOptions& options, SourceLocation where) {
  const CallSite site("full", where);
  const DType dtype = options.dtype.value_or(value.dtype());
  detail::require_representable(value, dtype);
  const Tensor out = raw::allocate(shape, contiguous_strides(shape), dtype, options.device, options.pinned);
  if (out.numel()) backend_of(out.device()).run(calls::Fill{out, value.storable()});
  if (detail::is_heard()) [[unlikely]]
    detail::tell("full", {out}, {}, {{"shape", detail::list_of(shape)}, {"value", value.as_double()}});
  return out;
}

Tensor zeros(const Shape& shape, const TensorOptions& options, SourceLocation where) {
  const CallSite site("zeros", where);
  return full(shape, 0.0, options);
}

Tensor ones(const Shape& shape, const TensorOptions& options, SourceLocation where) {
  const CallSite site("ones", where);
  return full(shape, 1.0, options);
}

namespace {

std::string text(Scalar value) {
  if (is_floating_point(value.dtype())) return fmt::format("{}", value.as_double());
  if (value.exceeds_int64()) return fmt::format("{}", static_cast<std::uint64_t>(value.as_int()));
  return fmt::format("{}", value.as_int());
}

/// The arguments of arange().
struct ArangeBounds {
  Scalar start, stop, step;

  bool integral() const { return is_integral(start.dtype()) && is_integral(stop.dtype()) && is_integral(step.dtype()); }
  double count() const { return std::ceil((stop.as_double() - start.as_double()) / step.as_double()); }
  // Exact, for integers.
  bool leads_to_stop() const {
    const std::int64_t from = start.as_int(), to = stop.as_int(), by = step.as_int();
    return by != 0 && (by > 0 ? from <= to : from >= to);
  }
  std::uint64_t exact_count() const {
    const bool up = step.as_int() > 0;
    const auto from = static_cast<std::uint64_t>(start.as_int()), to = static_cast<std::uint64_t>(stop.as_int());
    const auto by = static_cast<std::uint64_t>(step.as_int());
    const std::uint64_t distance = up ? to - from : from - to, size = up ? by : 0 - by;
    return distance / size + (distance % size != 0);
  }
  /// Whether double cannot hold all of these integers exactly.
  bool exceeds_double() const {
    constexpr double kExact = 0x1p53;
    return std::abs(start.as_double()) + std::abs(stop.as_double()) + std::abs(step.as_double()) >= kExact;
  }
};

/// Integers that double cannot hold: the backends compute in double.
Tensor exact_arange(const ArangeBounds& range, std::int64_t count, const TensorOptions& options) {
  const Tensor host = empty({count}, {DType::int64});
  auto* const values = static_cast<std::int64_t*>(host.raw_data());
  for (std::int64_t i = 0; i < count; ++i)
    values[i] = wrapping_add(range.start.as_int(), wrapping_mul(i, range.step.as_int()));
  const DType dtype = options.dtype.value_or(DType::int64);
  if (dtype == DType::int64 && options.device.is_cpu() && !options.pinned) return host;
  return raw::copy_to(host, empty({count}, {dtype, options.device, options.pinned}));
}

}  // namespace

Tensor arange(Scalar start, Scalar stop, Scalar step, const TensorOptions& options, SourceLocation where) {
  const CallSite site("arange", where);
  const ArangeBounds range{start, stop, step};
  const DType dtype = options.dtype.value_or(range.integral() ? DType::int64 : DType::float32);
  const bool exact = range.integral() && is_integral(dtype);
  if (exact)
    for (const Scalar bound : {start, stop, step}) detail::require_representable(bound, DType::int64);
  const bool leads_to_stop =
      exact ? range.leads_to_stop() : step.as_double() != 0 && range.count() >= 0 && std::isfinite(range.count());
  if (!leads_to_stop)
    throw ValueError(fmt::format(
        "{}: no numbers lead from {} to {} in steps of {}\nthe step must not be 0 and must lead towards stop",
        CallSite::op_or("arange"), text(start), text(stop), text(step)));
  const std::uint64_t whole = exact ? range.exact_count() : 0;
  const double count = exact ? static_cast<double>(whole) : range.count();
  if (count >= 0x1p63)
    throw OutOfMemoryError(fmt::format("{}: {} numbers do not fit into any memory\nuse a larger step, or stop earlier",
                                       CallSite::op_or("arange"),
                                       exact ? fmt::to_string(whole) : fmt::to_string(count)));
  const auto n = exact ? static_cast<std::int64_t>(whole) : static_cast<std::int64_t>(count);
  if (exact && range.exceeds_double()) return exact_arange(range, n, options);
  const Tensor out = empty({n}, {dtype, options.device, options.pinned});
  if (out.numel()) backend_of(out.device()).run(calls::Arange{out, start.as_double(), step.as_double()});
  if (detail::is_heard()) [[unlikely]]
    detail::tell("arange", {out}, {},
                 {{"start", start.as_double()}, {"stop", stop.as_double()}, {"step", step.as_double()}});
  return out;
}

Tensor arange(Scalar stop, const TensorOptions& options, SourceLocation where) {
  return arange(0, stop, 1, options, where);
}

Tensor linspace(double start, double stop, std::int64_t steps, const TensorOptions& options, SourceLocation where) {
  const CallSite site("linspace", where);
  const Tensor out = empty({steps}, options);
  const bool direct = out.device().is_cpu() && is_floating_point(out.dtype());
  const Tensor host = direct ? out : empty({steps}, {DType::float64});
  const double step = steps > 1 ? (stop - start) / static_cast<double>(steps - 1) : 0;
  const auto part = [&](std::int64_t begin, std::int64_t end, double from, std::int64_t first) {
    const View values(host.storage(), host.dtype(), {end - begin}, {1}, begin);
    if (end > begin) backend_of(host.device()).run(calls::Arange{values, from, step, first});
  };
  const std::int64_t middle = steps > 1 ? steps / 2 : steps;
  part(0, middle, start, 0);  // counted from both ends, so that the last one is exact
  part(middle, steps, stop, middle - steps + 1);
  return direct ? out : raw::copy_to(host, out);
}

Tensor eye(std::int64_t rows, std::int64_t columns, const TensorOptions& options, SourceLocation where) {
  const CallSite site("eye", where);
  if (columns == -1) columns = rows;
  const Tensor out = zeros({rows, columns}, options);
  const std::int64_t n = std::min(rows, columns);
  if (n) backend_of(out.device()).run(calls::Fill{View(out.storage(), out.dtype(), {n}, {columns + 1}), 1});
  return out;
}

Tensor rand(const Shape& shape, const RandomOptions& options, SourceLocation where) {
  const CallSite site("rand", where);
  const Tensor out = empty(shape, {floating(options), options.device});
  if (out.numel())
    backend_of(out.device()).run(calls::Uniform{generator_of(options).reserve(numbers_drawn(out)), out, 0, 1});
  return out;
}

namespace {

Tensor drawn_normal(double mean, double std, const Shape& shape, const RandomOptions& options) {
  const Tensor out = empty(shape, {floating(options), options.device});
  if (out.numel())
    backend_of(out.device()).run(calls::Normal{generator_of(options).reserve(numbers_drawn(out)), out, mean, std});
  return out;
}

}  // namespace

Tensor randn(const Shape& shape, const RandomOptions& options, SourceLocation where) {
  const CallSite site("randn", where);
  return drawn_normal(0, 1, shape, options);
}

Tensor normal(double mean, double std, const Shape& shape, const RandomOptions& options, SourceLocation where) {
  const CallSite site("normal", where);
  if (!(std >= 0))
    throw ValueError(fmt::format("normal: std must be 0 or more, got {}\n0 gives the mean everywhere", std));
  return drawn_normal(mean, std, shape, options);
}

Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, const RandomOptions& options,
               SourceLocation where) {
  const CallSite site("randint", where);
  if (low >= high)
    throw ValueError("randint: no integers in [" + std::to_string(low) + ", " + std::to_string(high) +
                     ")\nhigh must be greater than low");
  const DType dtype = options.dtype.value_or(DType::int64);
  if (is_integral(dtype) && dtype != DType::int64) {
    const std::int64_t limit = std::int64_t{1} << integer_bits(dtype);
    const std::int64_t lowest = dtype == DType::uint8 || dtype == DType::bool_ ? 0 : -limit;
    if (low < lowest || high > limit)
      throw ValueError(fmt::format("randint: {} holds numbers of [{}, {}), not all of [{}, {})\ntake int64",
                                   name_of(dtype), lowest, limit, low, high));
  }
  if (shape.numel() == 0) return empty(shape, {dtype, options.device});
  const Tensor out = empty(shape, {DType::int64, options.device});
  backend_of(out.device()).run(calls::Randint{generator_of(options).reserve(2 * out.numel()), out, low, high});
  return as_asked(out, options);
}

Tensor randperm(std::int64_t n, const RandomOptions& options, SourceLocation where) {
  const CallSite site("randperm", where);
  if (n < 0)
    throw ValueError("randperm: n must be 0 or more, got " + std::to_string(n) + "\npass how many numbers to permute");
  const DType dtype = options.dtype.value_or(DType::int64);
  if (dtype != DType::int64 && n > std::int64_t{1} << integer_bits(dtype))
    throw ValueError(fmt::format("randperm: {} does not hold all numbers below {}\ntake int64", name_of(dtype), n));
  // Shuffled on the host, so that the order does not depend on the device.
  const RandomOptions on_host{{}, {}, options.generator};
  const Tensor host = arange(n, {DType::int64});
  const Tensor draw = randint(0, kToEnd, {n}, on_host);
  auto* order = host.data<std::int64_t>();
  const auto* random = draw.data<std::int64_t>();
  for (std::int64_t i = n - 1; i > 0; --i) std::swap(order[i], order[random[i] % (i + 1)]);
  return as_asked(host, options);
}

Tensor empty_like(const In& x, std::optional<DType> dtype) {
  const CallSite site("empty_like", x.where);
  x->require_defined();
  return raw::allocate(x->shape(), strides_like(x->shape(), x->strides()), dtype.value_or(x->dtype()), x->device(),
                       false);
}

Tensor full_like(const In& x, Scalar value, std::optional<DType> dtype) {
  const CallSite site("full_like", x.where);
  x->require_defined();
  detail::require_representable(value, dtype.value_or(x->dtype()));
  const Tensor out = empty_like(x, dtype);
  if (out.numel()) backend_of(out.device()).run(calls::Fill{out, value.storable()});
  if (detail::is_heard()) [[unlikely]]
    detail::tell("full_like", {out}, {{"x", *x}}, {{"value", value.as_double()}});
  return out;
}

Tensor zeros_like(const In& x, std::optional<DType> dtype) {
  const CallSite site("zeros_like", x.where);
  return full_like(x, 0, dtype);
}

Tensor ones_like(const In& x, std::optional<DType> dtype) {
  const CallSite site("ones_like", x.where);
  return full_like(x, 1, dtype);
}

Tensor rand_like(const In& x) {
  const CallSite site("rand_like", x.where);
  x->require_defined();
  return rand(x->shape(), {x->dtype(), x->device()});
}

Tensor randn_like(const In& x) {
  const CallSite site("randn_like", x.where);
  x->require_defined();
  return randn(x->shape(), {x->dtype(), x->device()});
}

namespace {

void measure(const Nested& n, Shape& shape, DType& dtype) {
  if (!n.is_list()) {
    dtype = promote_types(dtype, n.value().dtype());
    return;
  }
  if (shape.rank() == kMaxRank)
    throw ShapeError("tensor: the lists are nested deeper than " + std::to_string(kMaxRank) +
                     " levels\na tensor has at most that many dimensions");
  shape.push_back(static_cast<std::int64_t>(n.list().size()));
  if (!n.list().empty()) measure(n.list().front(), shape, dtype);
}

void collect(const Nested& n, const Shape& shape, int depth, std::vector<Scalar>& values, DType& dtype) {
  const bool valid = n.is_list() ? depth < shape.rank() && static_cast<std::int64_t>(n.list().size()) == shape[depth]
                                 : depth == shape.rank();
  if (!valid)
    throw ShapeError("tensor: the nested lists differ in length\n  the first of each level give " + shape.str() +
                     "\ngive all lists of one level the same length");
  if (!n.is_list()) {
    dtype = promote_types(dtype, n.value().dtype());
    values.push_back(n.value());
  }
  for (const Nested& inner : n.list()) collect(inner, shape, depth + 1, values, dtype);
}

}  // namespace

Tensor tensor(const Nested& nested, const TensorOptions& options, SourceLocation where) {
  const CallSite site("tensor", where);
  CaptureRules::forbid_access("tensor", Device());
  Shape shape;
  DType dtype = DType::bool_;
  measure(nested, shape, dtype);
  std::vector<Scalar> values;
  collect(nested, shape, 0, values, dtype);
  if (values.empty()) dtype = DType::float32;
  const Tensor host = empty(shape, {options.dtype.value_or(dtype), {}, options.pinned});
  for (const Scalar v : values) detail::require_representable(v, host.dtype());
  dtype_switch(host.dtype(), [&]<class T>() {
    T* out = static_cast<T*>(host.raw_data());
    for (const Scalar v : values) {
      if constexpr (std::is_integral_v<T>)
        *out++ =
            static_cast<T>(is_floating_point(v.dtype()) && std::is_same_v<T, bool> ? v.as_double() != 0 : v.as_int());
      else *out++ = T(static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(v.as_double()));
    }
  });
  if (options.device.is_cpu()) return host;
  return raw::copy_to(host, empty(shape, {host.dtype(), options.device}));
}

Tensor detail::copy_of(const void* values, std::size_t count, DType own, const TensorOptions& options,
                       SourceLocation where) {
  const CallSite site("tensor", where);
  CaptureRules::forbid_access("tensor", Device());
  const Shape shape{static_cast<std::int64_t>(count)};
  const Tensor host = empty(shape, {own, {}, options.pinned});
  if (count) std::memcpy(host.raw_data(), values, count * size_of(own));
  const DType dtype = options.dtype.value_or(own);
  if (dtype != own && !is_floating_point(dtype))
    dtype_switch(own, [&]<class T>() {
      const T* element = static_cast<const T*>(host.raw_data());
      for (std::size_t i = 0; i < count; ++i) {
        if constexpr (std::is_integral_v<T>) detail::require_representable(Scalar(element[i]), dtype);
        else detail::require_representable(Scalar(static_cast<double>(element[i])), dtype);
      }
    });
  if (options.device.is_cpu() && dtype == own) return host;
  return raw::copy_to(host, empty(shape, {dtype, options.device}));
}

void detail::require_one_width(std::size_t found, std::size_t first, SourceLocation where) {
  if (found == first) return;
  throw ShapeError("tensor: the rows have different lengths\n  the first has " + std::to_string(first) + ", another " +
                       std::to_string(found) + "\ngive all rows the same length",
                   where);
}

Tensor detail::as_rows(const Tensor& values, std::size_t rows, std::size_t width) {
  const Shape shape{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(width)};
  return Tensor(values.storage(), values.dtype(), shape, contiguous_strides(shape));
}

namespace {

/// How many elements the memory must have; -1 if that overflows.
std::int64_t required_elements(const Shape& shape, const Strides& strides) {
  bool valid = strides.rank() == shape.rank();
  std::int64_t last = 0;
  for (int d = 0; valid && d < shape.rank(); ++d) {
    if (shape[d] == 0) return 0;
    std::int64_t step = 0;
    valid = strides[d] >= 0 && !__builtin_mul_overflow(shape[d] - 1, strides[d], &step) &&
            !__builtin_add_overflow(last, step, &last);
  }
  if (!valid)
    throw ValueError("from_blob: the strides do not fit the shape\n  shape    " + shape.str() + "\n  strides  " +
                     strides.str() + "\ngive a stride for each dimension, in elements, 0 or more");
  return last + 1;
}

}  // namespace

Tensor detail::view_of(void* data, const Shape& shape, std::optional<DType> own, const BlobOptions& options,
                       SourceLocation where) {
  const CallSite site("from_blob", where);
  if (!own && !options.dtype)
    throw DTypeError("from_blob: the dtype of the elements is unknown\n  shape  " + shape.str() +
                     "\npass a dtype: from_blob(data, shape, float32)");
  const DType dtype = options.dtype.value_or(own.value_or(DType::float32));
  if (own && *own != dtype)
    throw DTypeError("from_blob: the pointer is to " + std::string(name_of(*own)) + ", the dtype is " +
                     std::string(name_of(dtype)) + "\nleave the dtype out, or pass a void*");
  std::size_t bytes = raw::checked_bytes(shape, dtype);
  const Strides strides = options.strides.value_or(contiguous_strides(shape));
  if (options.strides) bytes = raw::checked_bytes({required_elements(shape, strides)}, dtype);
  if (!data && bytes)
    throw ValueError("from_blob: the pointer is null\n  shape  " + shape.str() + "\npass memory of " +
                     std::to_string(bytes) + " bytes");
  if (options.device.is_sim())
    throw DeviceError("from_blob: only minnow has memory of " + options.device.str() +
                      "\nmake a tensor of host memory, and move it there: from_blob(...).to(device)");
  CaptureRules::forbid_access("from_blob", options.device, where);
  (void)backend_of(options.device);  // DeviceError
  auto storage = std::make_shared<Storage>(data, bytes, options.device, options.deleter);
  return Tensor(std::move(storage), dtype, shape, strides);
}

void detail::require_representable(Scalar value, DType dtype) {
  if (is_floating_point(dtype) || dtype >= DType::bool_)
    return;  // an invalid dtype is refused when memory is allocated
  const bool floating = is_floating_point(value.dtype());
  if (dtype == DType::int64 && !floating && !value.exceeds_int64()) return;
  const double v = std::trunc(value.as_double());  // NaN is outside of every range
  if (dtype == DType::int64 && v >= -0x1p63 && v < 0x1p63) return;
  if (dtype == DType::int32 && v >= -0x1p31 && v < 0x1p31) return;
  if (dtype == DType::int16 && v >= -0x1p15 && v < 0x1p15) return;
  if (dtype == DType::int8 && v >= -0x1p7 && v < 0x1p7) return;
  if (dtype == DType::uint8 && std::abs(v) <= 255) return;
  throw ValueError(fmt::format("{}: {} does not fit into {}\nchoose a wider dtype, or a value that it holds",
                               CallSite::op(), text(value), name_of(dtype)));
}

}  // namespace minnow
