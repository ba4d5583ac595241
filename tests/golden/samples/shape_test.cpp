#include "devices.h"
#include "samples.h"

namespace minnow::test {
namespace {

using X = SampleArguments;

template <class F> SampleCall shaped_by(F f) {
  return [f](const X& x) { return std::vector<Tensor>{f(x)}; };
}
SampleCall joined_by(Tensor (*f)(const std::vector<Tensor>&, int, SourceLocation)) {
  return [f](const X& x) {
    if (x.value(0).kind != SampleValue::Kind::kList) throw NoForm();
    std::vector<Tensor> parts;
    for (const SampleValue& v : x.value(0).items) parts.push_back(v.tensor);
    return std::vector{f(parts, x.dim(1, "dim", 0), SourceLocation::current())};
  };
}
SampleCall stacked_by(Tensor (*f)(const std::vector<Tensor>&, SourceLocation)) {
  return [f](const X& x) { return std::vector{f(x.tensors(0), SourceLocation::current())}; };
}
SampleCall triangle_by(Tensor (*f)(const In&, std::int64_t)) {
  return [f](const X& x) { return std::vector{f(x.tensor(0), x.integer(1, "diagonal", 0))}; };
}
SampleCall padded_by(PadMode mode) {
  return shaped_by([mode](const X& x) {
    (void)x.text(2, "mode", "");
    const Scalar value = x.scalar(3, "value", 0);
    return pad(x.tensor(0), x.integers(1, "pad"), mode, value);
  });
}
std::vector<Tensor> meshed(const X& x) {
  if (x.text(100, "indexing", "ij") != "ij") throw NoForm();
  return meshgrid(x.tensors(0));
}
Tensor squeezed(const X& x) {
  Tensor y = x.tensor(0);
  if (!x.has(1, "dim")) {
    if (x.positional.size() > 1) throw NoForm();
    return y.squeeze();
  }
  const std::vector<std::int64_t> dims = x.integers(1, "dim");
  if (dims.size() != 1) throw NoForm();
  return y.squeeze(static_cast<int>(dims[0]));
}
std::vector<Tensor> broadcast(const X& x) {
  const std::vector<Tensor> parts = x.tensors(0);
  Tensor all_of = zeros({}, {.device = parts.at(0).device()});
  for (const Tensor& part : parts) all_of = all_of + zeros(part.shape(), {.device = part.device()});
  std::vector<Tensor> results;
  for (const Tensor& part : parts) results.push_back(part.expand_as(all_of));
  return results;
}
std::vector<Tensor> split_of(const X& x) {
  const int dim = x.dim(2, "dim", 0);
  const SampleValue& size = x.value(1, x.has(1, "split_sizes") ? "split_sizes" : "split_size_or_sections");
  if (size.kind == SampleValue::Kind::kInteger) return split(x.tensor(0), static_cast<std::int64_t>(size.number), dim);
  return split(x.tensor(0), x.integers(1, "split_sizes"), dim);
}
Tensor repeated(const X& x) {
  (void)x.has(9, "output_size");
  const std::optional<int> dim = x.has(2, "dim") ? std::optional(x.dim(2, "dim", 0)) : std::nullopt;
  if (x.value(1, "repeats").kind == SampleValue::Kind::kTensor)
    return repeat_interleave(x.tensor(0), x.tensor(1, "repeats"), dim);
  return repeat_interleave(x.tensor(0), x.integer(1, "repeats", 1), dim);
}

const SampleCalls kShape = {
    {"H", shaped_by([](const X& x) { return x.tensor(0).t(); })},
    {"T", shaped_by([](const X& x) { return x.tensor(0).t(); })},
    {"t", shaped_by([](const X& x) { return x.tensor(0).t(); })},
    {"mT", shaped_by([](const X& x) { return x.tensor(0).mT(); })},
    {"ravel", shaped_by([](const X& x) { return x.tensor(0).flatten(); })},
    {"reshape", shaped_by([](const X& x) { return x.tensor(0).reshape(Shape(x.rest(1))); })},
    {"view", shaped_by([](const X& x) { return x.tensor(0).contiguous().view(Shape(x.rest(1))); })},
    {"reshape_as", shaped_by([](const X& x) { return x.tensor(0).reshape(x.tensor(1).shape()); })},
    {"view_as", shaped_by([](const X& x) { return x.tensor(0).contiguous().view_as(x.tensor(1)); })},
    {"flatten",
     shaped_by([](const X& x) { return x.tensor(0).flatten(x.dim(1, "start_dim", 0), x.dim(2, "end_dim", -1)); })},
    {"unflatten",
     shaped_by([](const X& x) { return unflatten(x.tensor(0), x.dim(1, "dim", 0), Shape(x.integers(2))); })},
    {"squeeze", shaped_by(squeezed)},
    {"squeeze/multiple", shaped_by(squeezed)},
    {"unsqueeze", shaped_by([](const X& x) { return x.tensor(0).unsqueeze(x.dim(1, "dim", 0)); })},
    {"permute", shaped_by([](const X& x) { return x.tensor(0).permute(Shape(x.rest(1, "dims"))); })},
    {"transpose",
     shaped_by([](const X& x) { return x.tensor(0).transpose(x.dim(1, "dim0", 0), x.dim(2, "dim1", 0)); })},
    {"expand", shaped_by([](const X& x) { return x.tensor(0).expand(Shape(x.rest(1))); })},
    {"broadcast_to", shaped_by([](const X& x) { return x.tensor(0).expand(Shape(x.rest(1))); })},
    {"expand_as", shaped_by([](const X& x) { return x.tensor(0).expand_as(x.tensor(1)); })},
    {"broadcast_tensors", broadcast},
    {"narrow", shaped_by([](const X& x) {
       if (x.value(2).kind == SampleValue::Kind::kTensor && x.tensor(2).dtype() == bool_) throw NoForm();
       const std::int64_t start =
           x.value(2).kind == SampleValue::Kind::kTensor ? x.tensor(2).item<std::int64_t>() : x.integer(2, "start", 0);
       return x.tensor(0).narrow(x.dim(1, "dim", 0), start, x.integer(3, "length", 0));
     })},
    {"select", shaped_by([](const X& x) { return x.tensor(0).select(x.dim(1, "dim", 0), x.integer(2, "index", 0)); })},
    {"diagonal", shaped_by([](const X& x) {
       return diagonal(x.tensor(0), x.integer(1, "offset", 0), x.dim(2, "dim1", 0), x.dim(3, "dim2", 1));
     })},
    {"diag", triangle_by(diag)},
    {"diag_embed", shaped_by([](const X& x) {
       return diag_embed(x.tensor(0), x.integer(1, "offset", 0), x.dim(2, "dim1", -2), x.dim(3, "dim2", -1));
     })},
    {"hstack", stacked_by(hstack)},
    {"vstack", stacked_by(vstack)},
    {"cat", joined_by(cat)},
    {"stack", joined_by(stack)},
    {"chunk", [](const X& x) { return chunk(x.tensor(0), x.integer(1, "chunks", 1), x.dim(2, "dim", 0)); }},
    {"split", split_of},
    {"split/list_args", split_of},
    {"split_with_sizes", split_of},
    {"unbind", [](const X& x) { return unbind(x.tensor(0), x.dim(1, "dim", 0)); }},
    {"unfold", shaped_by([](const X& x) {
       return unfold(x.tensor(0), x.dim(1, "dimension", 0), x.integer(2, "size", 1), x.integer(3, "step", 1));
     })},
    {"repeat", shaped_by([](const X& x) { return repeat(x.tensor(0), Shape(x.rest(1, "repeats"))); })},
    {"tile", shaped_by([](const X& x) { return tile(x.tensor(0), Shape(x.rest(1, "dims"))); })},
    {"roll", shaped_by([](const X& x) {
       return roll(x.tensor(0), Shape(x.integers(1, "shifts")), Dims(x.integers(2, "dims")));
     })},
    {"flip", shaped_by([](const X& x) { return flip(x.tensor(0), Dims(x.rest(1, "dims"))); })},
    {"fliplr", shaped_by([](const X& x) { return flip(x.tensor(0), 1); })},
    {"flipud", shaped_by([](const X& x) { return flip(x.tensor(0), 0); })},
    {"meshgrid/variadic_tensors", meshed},
    {"meshgrid/list_of_tensors", meshed},
    {"repeat_interleave", shaped_by(repeated)},
    {"nn.functional.pad/constant", padded_by(PadMode::constant)},
    {"nn.functional.pad/reflect", padded_by(PadMode::reflect)},
    {"nn.functional.pad/replicate", padded_by(PadMode::replicate)},
    {"nn.functional.pad/replicate_negative", padded_by(PadMode::replicate)},
    {"nn.functional.pad/circular", padded_by(PadMode::circular)},
    {"constant_pad_nd", shaped_by([](const X& x) {
       return pad(x.tensor(0), x.integers(1, "pad"), PadMode::constant, x.scalar(2, "value", 0));
     })},
    {"clone", shaped_by([](const X& x) { return x.tensor(0).clone(); })},
    {"contiguous", shaped_by([](const X& x) { return x.tensor(0).contiguous(); })},
    {"tril", triangle_by(tril)},
    {"triu", triangle_by(triu)},
    {"trace", shaped_by([](const X& x) { return trace(x.tensor(0)); })},
    {"zeros_like", shaped_by([](const X& x) {
       return x.has(9, "dtype") ? zeros_like(x.tensor(0), x.value(9, "dtype").dtype) : zeros_like(x.tensor(0));
     })},
    {"ones_like", shaped_by([](const X& x) {
       return x.has(9, "dtype") ? ones_like(x.tensor(0), x.value(9, "dtype").dtype) : ones_like(x.tensor(0));
     })},
    {"full_like", shaped_by([](const X& x) {
       const Scalar v = x.scalar(1, "fill_value", 0);
       return x.has(9, "dtype") ? full_like(x.tensor(0), v, x.value(9, "dtype").dtype) : full_like(x.tensor(0), v);
     })},
};

class ShapeSamples : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, ShapeSamples, all_devices(), device_test_name);

TEST_P(ShapeSamples, OfPyTorch) {
  expect_samples(
      "shape", kShape,
      {{"roll", "accepted", "a 0-dim tensor has a dimension 0 for each operation, PyTorch's roll alone has none"},
       {"flipud", "accepted", "the same"}},
      device(), true);
}

// Indices.

SampleCall scattered_by(Scatter reduce) {
  return shaped_by([reduce](const X& x) {
    (void)x.text(4, "reduce", "");
    return scatter_reduce(x.tensor(0), x.dim(1, "dim", 0), x.tensor(2, "index"), x.tensor(3, "src"), reduce,
                          x.flag(5, "include_self", true));
  });
}
std::vector<Index> indices_of(const SampleValue& v) {
  std::vector<Index> list;
  const auto one = [&](const SampleValue& item) {
    switch (item.kind) {
      case SampleValue::Kind::kInteger: list.emplace_back(static_cast<std::int64_t>(item.number)); break;
      case SampleValue::Kind::kTensor: list.emplace_back(item.tensor); break;
      case SampleValue::Kind::kNone: list.emplace_back(newaxis); break;
      case SampleValue::Kind::kText: list.emplace_back(ellipsis); break;
      default: throw NoForm();
    }
  };
  if (v.kind != SampleValue::Kind::kList) one(v);
  for (const SampleValue& item : v.items) one(item);
  return list;
}

const SampleCalls kIndex = {
    {"gather", shaped_by([](const X& x) {
       (void)x.has(3, "sparse_grad");
       return gather(x.tensor(0), x.dim(1, "dim", 0), x.tensor(2, "index"));
     })},
    {"scatter", shaped_by([](const X& x) {
       return scatter(x.tensor(0), x.dim(1, "dim", 0), x.tensor(2, "index"), x.like(3, "value"));
     })},
    {"scatter_add", shaped_by([](const X& x) {
       return scatter_add(x.tensor(0), x.dim(1, "dim", 0), x.tensor(2, "index"), x.tensor(3, "src"));
     })},
    {"scatter_reduce/sum", scattered_by(Scatter::sum)},
    {"scatter_reduce/prod", scattered_by(Scatter::prod)},
    {"scatter_reduce/mean", scattered_by(Scatter::mean)},
    {"scatter_reduce/amax", scattered_by(Scatter::amax)},
    {"scatter_reduce/amin", scattered_by(Scatter::amin)},
    {"index_select", shaped_by([](const X& x) { return index_select(x.tensor(0), x.dim(1, "dim", 0), x.tensor(2)); })},
    {"index_add", shaped_by([](const X& x) {
       if (x.has(4, "alpha")) throw NoForm();
       return index_add(x.tensor(0), x.dim(1, "dim", 0), x.tensor(2), x.tensor(3));
     })},
    {"index_copy",
     shaped_by([](const X& x) { return index_copy(x.tensor(0), x.dim(1, "dim", 0), x.tensor(2), x.tensor(3)); })},
    {"index_fill", shaped_by([](const X& x) {
       return index_fill(x.tensor(0), x.dim(1, "dim", 0), x.tensor(2), x.like(3, "value"));
     })},
    {"index_put", shaped_by([](const X& x) {
       const std::vector<Index> i = indices_of(x.value(1, "indices"));
       const bool accumulate = x.flag(3, "accumulate", false);
       const Tensor source = x.tensor(2, "values");
       if (i.size() == 1) return x.tensor(0).index_put({i[0]}, source, accumulate);
       if (i.size() == 2) return x.tensor(0).index_put({i[0], i[1]}, source, accumulate);
       throw NoForm();
     })},
    {"take_along_dim", shaped_by([](const X& x) {
       if (x.has(2, "dim")) return take_along_dim(x.tensor(0), x.tensor(1, "indices"), x.dim(2, "dim", 0));
       return take_along_dim(x.tensor(0), x.tensor(1, "indices"));
     })},
    {"masked_fill",
     shaped_by([](const X& x) { return masked_fill(x.tensor(0), x.tensor(1, "mask"), x.like(2, "value")); })},
    {"masked_select", shaped_by([](const X& x) { return masked_select(x.tensor(0), x.tensor(1, "mask")); })},
    {"masked_scatter", shaped_by([](const X& x) { return masked_scatter(x.tensor(0), x.tensor(1), x.tensor(2)); })},
    {"nonzero", shaped_by([](const X& x) {
       if (x.flag(9, "as_tuple", false)) throw NoForm();
       return nonzero(x.tensor(0));
     })},
    {"argwhere", shaped_by([](const X& x) { return nonzero(x.tensor(0)); })},
    // The samples have the weight first.
    {"nn.functional.embedding", shaped_by([](const X& x) {
       if (x.flag(9, "scale_grad_by_freq", false) || x.has(9, "max_norm") || x.flag(9, "sparse", false)) throw NoForm();
       const std::optional<std::int64_t> padding =
           x.has(9, "padding_idx") ? std::optional(x.integer(9, "padding_idx", 0)) : std::nullopt;
       return embedding(x.tensor(1), x.tensor(0), padding);
     })},
    {"nn.functional.embedding_bag", shaped_by([](const X& x) {
       if (x.flag(9, "scale_grad_by_freq", false) || x.has(9, "max_norm") || x.flag(9, "sparse", false)) throw NoForm();
       const std::string mode = x.text(9, "mode", "mean");
       EmbeddingBagFuncOptions options;
       options.mode = mode == "sum" ? BagMode::sum : mode == "max" ? BagMode::max : BagMode::mean;
       options.per_sample_weights = x.tensor(9, "per_sample_weights");
       options.include_last_offset = x.flag(9, "include_last_offset", false);
       if (x.has(9, "padding_idx")) options.padding_idx = x.integer(9, "padding_idx", 0);
       return embedding_bag(x.tensor(1), x.tensor(0), x.tensor(9, "offsets"), options);
     })},
    {"nn.functional.one_hot",
     shaped_by([](const X& x) { return one_hot(x.tensor(0), x.integer(1, "num_classes", -1)); })},
    {"__getitem__", shaped_by([](const X& x) { return Tensor(x.tensor(0).index(indices_of(x.value(1)))); })},
};

class IndexSamples : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, IndexSamples, all_devices(), device_test_name);

TEST_P(IndexSamples, OfPyTorch) {
  expect_samples(
      "index", kIndex,
      {{"gather", "must be int64", "indices are int64"},
       {"scatter", "must be int64", "indices are int64"},
       {"take_along_dim", "IndexError", "negative indices are errors, as they are in gather"},
       {"masked_fill", "accepted", "a value of shape [1] is broadcast, as other operands are"},
       {"scatter_reduce/am", "include_self=False", "PyTorch divides by an equal element that is not included"}},
      device(), true);
}

TEST_P(ShapeSamples, MisusedNumbers) { misuse_samples("shape", kShape, device()); }
TEST_P(IndexSamples, MisusedNumbers) { misuse_samples("index", kIndex, device()); }

}  // namespace
}  // namespace minnow::test
