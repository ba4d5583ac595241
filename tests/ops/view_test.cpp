#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/raw/transfer.h>

#include "op_cases.h"

// Members of Tensor that return views and copies; reading and writing elements.
namespace minnow::test {
namespace {

OpCase view_row(const char* function, const std::string& variant, const Function& call, std::vector<Inputs> inputs,
                std::vector<std::string> golden = {}) {
  return {.function = function,
          .variant = variant,
          .call = call,
          .inputs = std::move(inputs),
          .dtypes = all_dtypes(),
          .golden = std::move(golden)};
}

OpCases views() {
  const std::vector<Inputs> box{{values({2, 3, 4})}, {values({0, 3, 4})}}, matrix{{values({2, 3})}, {values({0, 3})}};
  OpCases cases{
      view_row("reshape", "6,-1", one([](const Tensors& x) {
                 return x[0].reshape({6, 4});
               }),
               {{values({2, 3, 4})}}, {"views: reshape"}),
      view_row("reshape", "transposed", one([](const Tensors& x) {
                 return x[0].transpose(0, 2).reshape({6, 4});
               }),
               {{values({2, 3, 4})}}, {"index: transpose,reshape"}),
      view_row("view", "", one([](const Tensors& x) {
                 return x[0].clone().contiguous().view({4, -1});
               }),
               {{values({2, 3, 4})}}, {"views: view"}),
      view_row("view_as", "", one([](const Tensors& x) { return x[0].contiguous().view_as(x[1]); }),
               {{values({2, 3}), values({3, 2})}}, {"views: view_as"}),
      view_row("transpose", "", one([](const Tensors& x) { return x[0].transpose(0, -1); }), box, {"views: transpose"}),
      view_row("t", "", one([](const Tensors& x) { return x[0].t(); }), {{values({2, 3})}, {values({3})}},
               {"views: t"}),
      view_row("mT", "", one([](const Tensors& x) { return x[0].mT(); }), box, {"views: mT"}),
      view_row("permute", "", one([](const Tensors& x) {
                 return x[0].permute({2, 0, -2});
               }),
               box, {"views: permute"}),
      view_row("permute", "doubled", one([](const Tensors& x) {
                 return x[0].permute({2, 0, 1}) * 2;
               }),
               box, {"index: permute"}),
      view_row("squeeze", "", one([](const Tensors& x) { return x[0].squeeze(); }),
               {{values({2, 1, 3})}, {values({1})}}, {"views: squeeze"}),
      view_row("squeeze", "1", one([](const Tensors& x) { return x[0].squeeze(1); }), {{values({2, 1, 3})}},
               {"views: squeeze/1"}),
      view_row("unsqueeze", "-1", one([](const Tensors& x) { return x[0].unsqueeze(-1); }),
               {matrix[0], matrix[1], {values({})}}, {"views: unsqueeze"}),
      view_row("unsqueeze", "squeeze", one([](const Tensors& x) { return x[0].unsqueeze(1).squeeze(2) * 2; }),
               {{values({2, 1, 3})}}, {"index: unsqueeze,squeeze"}),
      view_row("expand", "", one([](const Tensors& x) {
                 return x[0].expand({3, 2, 4}) * 2;
               }),
               {{values({2, 1})}, {values({1, 1, 4})}}, {"index: expand"}),
      view_row("expand_as", "", one([](const Tensors& x) { return x[0].expand_as(x[1]); }),
               {{values({2, 1}), values({2, 3})}}, {"views: expand_as"}),
      view_row("flatten", "1", one([](const Tensors& x) { return x[0].flatten(1) * 2; }), box, {"index: flatten"}),
      view_row("flatten", "", one([](const Tensors& x) { return x[0].flatten(); }), {box[0], box[1], {values({})}},
               {"views: flatten"}),
      view_row("narrow", "", one([](const Tensors& x) { return x[0].narrow(1, 1, 2); }), box, {"views: narrow"}),
      view_row("select", "", one([](const Tensors& x) { return x[0].select(-1, 2); }), box, {"views: select"}),
      view_row("select", "narrow", one([](const Tensors& x) { return x[0].narrow(1, 1, 2).select(2, 3); }), box,
               {"index: narrow,select"}),
      view_row("index", "slices", one([](const Tensors& x) { return x[0](0, all, slice(1, 4, 2)); }), {box[0]},
               {"index: slices"}),
      view_row("index", "newaxis", one([](const Tensors& x) { return x[0](ellipsis, newaxis, -1); }), box,
               {"index: newaxis"}),
      view_row("detach", "", one([](const Tensors& x) { return x[0].detach(); }), box)};
  cases.back().gradient = Gradient::kNone;
  cases.back().without_golden = "the tensor itself";
  for (OpCase& c : cases)  // the second operand gives its shape only
    if (c.function == "view_as" || c.function == "expand_as") c.takes_other_devices = true;
  return cases;
}

OpCases moves() {
  const std::vector<Inputs> box{{values({2, 3, 4})}, {values({0, 3})}, {values({})}};
  const auto itself = one([](const Tensors& x) { return x[0].clone(); });
  OpCases cases{
      view_row("clone", "", one([](const Tensors& x) { return x[0].clone(); }), box),
      view_row("contiguous", "", one([](const Tensors& x) { return x[0].contiguous(); }), box),
      view_row("contiguous", "channels_last",
               one([](const Tensors& x) { return x[0].contiguous(MemoryFormat::channels_last); }),
               {{values({2, 3, 2, 2})}}),
      view_row("to", "device", one([](const Tensors& x) { return x[0].to(x[0].device(), {.copy = true}); }), box),
      view_row("to", "beside", one([](const Tensors& x) { return x[0].to(Device("sim:0")).to(x[0].device()); }), box),
      view_row("to", "tensor", one([](const Tensors& x) { return x[0].to(x[0]); }), box),
      view_row("cpu", "", one([](const Tensors& x) { return x[0].cpu().to(x[0].device()); }), box)};
  for (OpCase& c : cases) {
    if (c.variant != "channels_last" || c.function == "clone") c.without_golden = "the values stay";
    c.same_as = itself;
  }
  for (const DType dtype : {DType::float64, DType::float16, DType::int64, DType::bool_}) {
    const std::string name(name_of(dtype));
    cases.push_back(
        view_row("to", name, one([=](const Tensors& x) { return x[0].to(dtype); }), {{values({2, 3}, -3, 3)}}));
    cases.back().golden = {"views: to/" + name};
    cases.back().exact = false;
    cases.back().gradient = dtype == DType::float64 ? Gradient::kAny : Gradient::kNone;
    if (dtype == DType::float16) cases.back().gradient = Gradient::kUnchecked;
  }
  return cases;
}

using Tens = const Tensors&;

/// Reading and writing elements, by tensors of indices and masks.
OpCases elements() {
  OpCases cases;
  const auto read = [&cases](const std::string& golden, const Function& call) {
    OpCase c = view_row("index", golden, call, {}, {"indexing: get/" + golden});
    c.inputs = {{values({4, 3, 5}), indices({3}, 3)}};
    c.takes_other_devices = true;  // indices of the host serve any device
    cases.push_back(c);
    return &cases.back();
  };
  read("rows", one([](Tens x) { return x[0](x[1]); }));
  read("columns", one([](Tens x) { return x[0](all, x[1]); }));
  read("last", one([](Tens x) { return x[0](ellipsis, x[1]); }))->inputs = {{values({2, 3}), indices({2, 2}, 3)}};
  read("matrix", one([](Tens x) { return x[0][x[1]]; }))->inputs = {{values({3, 2}), indices({2, 2}, 3)}};
  read("scalar", one([](Tens x) { return x[0](x[1]); }))->inputs = {{values({3, 2}), indices({}, 3)}};
  read("int32", one([](Tens x) { return x[0](x[1].to(DType::int32)); }));
  const std::vector<Inputs> by_two{{values({3, 4}), indices({2}, 3), indices({2}, 3)}};
  const std::vector<Inputs> inner{{values({2, 3, 4}), indices({2}, 2), indices({2}, 2)}};
  read("two", one([](Tens x) { return x[0](x[1], x[2]); }))->inputs = by_two;
  read("two,inner", one([](Tens x) { return x[0](all, x[1], x[2]); }))->inputs = inner;
  read("apart", one([](Tens x) { return x[0](x[1], all, x[2]); }))->inputs = inner;
  read("broadcast", one([](Tens x) { return x[0](x[1](all, newaxis), x[2]); }))->inputs = by_two;
  read("beside integer", one([](Tens x) { return x[0](1, x[1]); }));
  read("beside slice", one([](Tens x) { return x[0](slice(1, 4, 2), newaxis, x[1]); }));
  const std::vector<Inputs> masked{{values({2, 3}), mask({2, 3})}}, rows{{values({3, 2}), mask({3})}};
  read("mask", one([](Tens x) { return x[0](x[1]); }))->inputs = masked;
  read("mask rows", one([](Tens x) { return x[0](x[1]); }))->inputs = rows;
  read("mask inner", one([](Tens x) { return x[0](all, x[1]); }))->inputs = {{values({2, 3}), mask({3})}};
  read("mask none", one([](Tens x) { return x[0](x[1]); }))->inputs = rows;
  read("none", one([](Tens x) { return x[0](x[1]); }))->inputs = {{values({3, 2}), indices({0}, 3)}};
  return cases;
}

OpCases writes() {
  OpCases cases;
  const auto write = [&cases](const std::string& golden, const Function& call, const Inputs& inputs) {
    cases.push_back(view_row("index_put_", golden, call, {inputs}, {"indexing: put/" + golden}));
    cases.back().takes_other_dtypes = cases.back().takes_other_devices = true;
    cases.back().dtypes = numbers();
  };
  const Input box = values({4, 3, 5});
  const auto by = [](void (*f)(Tensor&, Tens)) { return written([f](Tensor& y, Tens x) { f(y, x); }); };
  write("row", by([](Tensor& y, Tens x) { y(1) = x[1]; }), {box, values({3, 5})});
  write("slice", by([](Tensor& y, Tens x) { y(slice(1, 3), all, 2) = x[1]; }), {box, values({2, 3})});
  write("broadcast", by([](Tensor& y, Tens x) { y(slice(0, 3)) = x[1]; }), {box, values({5})});
  // Each element is written once: of equal places the last one would count, in any order of the gradients.
  const Input once = indices({1}, 3);
  write("rows", by([](Tensor& y, Tens x) { y(x[2]) = x[1]; }), {box, values({1, 3, 5}), once});
  write("columns", by([](Tensor& y, Tens x) { y(all, x[2]) = x[1]; }), {box, values({4, 1, 5}), once});
  write("two", by([](Tensor& y, Tens x) { y(x[2], x[3]) = x[1]; }), {box, values({1, 5}), once, once});
  write("apart", by([](Tensor& y, Tens x) { y(x[2], all, x[3]) = x[1]; }), {box, values({1, 3}), once, once});
  write("inner slice", by([](Tensor& y, Tens x) { y(slice(1, 4, 2), x[2]) = x[1]; }), {box, values({2, 1, 5}), once});
  write("mask", by([](Tensor& y, Tens x) { y[x[2]] = x[1]; }), {values({2, 3}), values({}), mask({2, 3})});
  write("mask number", by([](Tensor& y, Tens x) { y(x[1]) = -1.5; }), {values({2, 3}), mask({2, 3})});
  cases.back().dtypes = floating_point_dtypes();
  write("mask rows number", by([](Tensor& y, Tens x) { y(x[1]) = 2; }), {values({3, 2}), mask({3})});
  write("add", by([](Tensor& y, Tens x) { y(x[2]) += x[1]; }), {box, values({1, 3, 5}), once});
  cases.push_back(view_row("index_put_", "member", written([](Tensor& y, Tens x) { y.index_put_({1}, x[1]); }),
                           {{values({2, 3}), values({3})}}));
  cases.back().same_as = written([](Tensor& y, Tens x) { y(1) = x[1]; });
  cases.back().takes_other_devices = true;
  return cases;
}

const Register kViewTables[] = {Register(views), Register(moves), Register(elements), Register(writes)};

}  // namespace
}  // namespace minnow::test
