// The time of a call grows with the number of entries and not with its square: nothing looks through all entries for
// each of them.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <ostream>
#include <string>
#include <vector>
#include <minnow/minnow.h>
#include "tensor/io_support.h"

namespace {

using namespace minnow;

/// What is measured; what it uses was made before and is kept by it.
using Action = std::function<void()>;

struct Growth {
  const char* name;
  int entries;  // the larger number; the smaller one is a tenth
  Action (*prepare)(int n);
};

void PrintTo(const Growth& growth, std::ostream* out) { *out << growth.name; }

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double seconds_of(const Growth& growth, int n) {
  const Action action = growth.prepare(n);
  const double start = cpu_seconds();
  action();
  return cpu_seconds() - start;
}

std::string name_of_entry(int i) { return "entry" + std::to_string(i); }

StateDict dict_of(int n) {
  StateDict dict;
  const Tensor one = ones({1});
  for (int i = 0; i < n; ++i) dict.set(name_of_entry(i), one);
  return dict;
}

std::vector<Tensor> leaves(int n) {
  std::vector<Tensor> list;
  for (int i = 0; i < n; ++i) list.push_back(ones({2}).requires_grad_());
  return list;
}

nn::Sequential flat_model(int n) {
  nn::Sequential model;
  for (int i = 0; i < n; ++i) model.push_back(nn::ParameterList({ones({1})}));
  return model;
}

nn::ParameterList parameters(int n) {
  nn::ParameterList list;
  for (int i = 0; i < n; ++i) list.push_back(ones({1}));
  return list;
}

data::Table table_of(int columns) {
  std::vector<std::string> names;
  std::vector<data::Table::Column> values;
  for (int i = 0; i < columns; ++i) {
    names.push_back(name_of_entry(i));
    values.push_back({zeros({2}, {DType::float64})});
  }
  return {names, values, 2};
}

std::string path_of(const std::string& name) {
  static const test::TemporaryFolder folder;
  return folder / name;
}

Tensor with_gradient(const Tensor& t) {
  t.set_grad(ones(t.shape()));
  return t;
}

template <class O, class Options> Action optimizer_step(int n, const Options& options) {
  auto list = leaves(n);
  for (const Tensor& t : list) with_gradient(t);
  auto optimizer = std::make_shared<O>(list, options);
  optimizer->step();
  return [optimizer] { optimizer->step(); };
}

Tensor chain(const Tensor& x, int n) {
  Tensor y = x;
  for (int i = 0; i < n; ++i) y = sin(y);
  return y;
}

struct Items {
  std::int64_t n;
  std::int64_t size() const { return n; }
  Tensor get(std::int64_t) const { return Tensor(item); }
  Tensor item = ones({1});
};

const Growth kGrowths[] = {
    {"Table_dataset", 20000,
     [](int n) -> Action { return [table = table_of(n)] { table.dataset(name_of_entry(0)); }; }},
    {"Table_column", 20000,
     [](int n) -> Action {
       return [table = table_of(n), n] {
         for (int i = 0; i < n; ++i) table.column(name_of_entry(i));
       };
     }},
    {"read_csv_columns", 20000,
     [](int n) -> Action {
       const std::string path = path_of("wide.csv");
       std::ofstream file(path);
       for (int row = 0; row < 2; ++row)
         for (int i = 0; i < n; ++i) file << (row ? std::to_string(i) : name_of_entry(i)) << (i + 1 < n ? ',' : '\n');
       return [path] { data::read_csv(path); };
     }},
    {"read_csv_numbers_and_categories", 20000,
     [](int n) -> Action {
       const std::string path = path_of("named.csv");
       std::ofstream file(path);
       data::CsvOptions options;
       for (int i = 0; i < n; ++i) {
         (i % 2 ? options.numbers : options.categories).push_back(name_of_entry(i));
         file << name_of_entry(i) << (i + 1 < n ? ',' : '\n');
       }
       for (int i = 0; i < n; ++i) file << i << (i + 1 < n ? ',' : '\n');
       return [path, options] { data::read_csv(path, options); };
     }},
    {"read_csv_rows_of_texts", 50000,
     [](int n) -> Action {
       const std::string path = path_of("texts.csv");
       std::ofstream file(path);
       file << "a,b\n";
       for (int i = 0; i < n; ++i) file << name_of_entry(i) << ",1\n";
       file.close();
       return [path] { data::read_csv(path); };
     }},
    {"StateDict_set_find", 100000,
     [](int n) -> Action {
       return [n] {
         const StateDict dict = dict_of(n);
         for (int i = 0; i < n; ++i) dict.at(name_of_entry(i));
       };
     }},
    {"StateDict_erase", 20000,
     [](int n) -> Action {
       return [dict = dict_of(n), n]() mutable {
         for (int i = 0; i < n; ++i) dict.erase(name_of_entry(i));
       };
     }},
    {"StateDict_erase_backwards", 20000,
     [](int n) -> Action {
       return [dict = dict_of(n), n]() mutable {
         for (int i = n; i-- > 0;) dict.erase(name_of_entry(i));
       };
     }},
    {"Sequential_push_back", 10000, [](int n) -> Action { return [n] { flat_model(n); }; }},
    {"ParameterList_push_back", 20000, [](int n) -> Action { return [n] { parameters(n); }; }},
    {"ParameterDict_at", 20000,
     [](int n) -> Action {
       nn::ParameterDict dict;
       for (int i = 0; i < n; ++i) dict.insert(name_of_entry(i), ones({1}));
       return [dict, n] {
         for (int i = 0; i < n; ++i) dict.at(name_of_entry(i));
       };
     }},
    {"ModuleDict_at", 20000,
     [](int n) -> Action {
       nn::ModuleDict dict;
       for (int i = 0; i < n; ++i) dict.insert(name_of_entry(i), nn::Identity());
       return [dict, n] {
         for (int i = 0; i < n; ++i) dict.at(name_of_entry(i));
       };
     }},
    {"state_dict", 20000, [](int n) -> Action { return [model = flat_model(n)] { model.state_dict(); }; }},
    {"load_state_dict", 20000,
     [](int n) -> Action {
       auto model = std::make_shared<nn::Sequential>(flat_model(n));
       return [model, dict = model->state_dict()] { model->load_state_dict(dict); };
     }},
    {"load_state_dict_other_names", 20000,
     [](int n) -> Action {
       auto model = std::make_shared<nn::Sequential>(flat_model(n));
       return [model, dict = dict_of(n)] { EXPECT_THROW(model->load_state_dict(dict), ValueError); };
     }},
    {"load_state_dict_prefixed", 20000,
     [](int n) -> Action {
       auto model = std::make_shared<nn::Sequential>(flat_model(n));
       StateDict dict;
       for (const auto& [name, value] : model->state_dict()) dict.set("module." + name, value);
       dict.erase("module.0.0");
       return [model, dict] { EXPECT_THROW(model->load_state_dict(dict), ValueError); };
     }},
    {"named_parameters", 20000, [](int n) -> Action { return [model = flat_model(n)] { model.named_parameters(); }; }},
    {"named_modules", 20000, [](int n) -> Action { return [model = flat_model(n)] { model.named_modules(); }; }},
    {"train_to_and_zero_grad", 20000,
     [](int n) -> Action {
       return [model = flat_model(n)]() mutable {
         model.train();
         model.to(DType::float64);
         model.zero_grad();
         model.freeze("1");
       };
     }},
    {"clone", 20000, [](int n) -> Action { return [model = flat_model(n)] { nn::clone(model); }; }},
    {"to_string", 20000, [](int n) -> Action { return [model = flat_model(n)] { model.to_string(); }; }},
    {"Sequential_forward", 20000,
     [](int n) -> Action {
       nn::Sequential model;
       for (int i = 0; i < n; ++i) model.push_back(nn::Identity());
       return [model] { model(ones({1})); };
     }},
    {"summary", 10000,
     [](int n) -> Action {
       nn::Sequential model;
       for (int i = 0; i < n; ++i) model.push_back(nn::Identity());
       return [model] { nn::summary(model, {1}); };
     }},
    {"parameters_to_vector", 20000,
     [](int n) -> Action {
       return [list = leaves(n)] { nn::vector_to_parameters(nn::parameters_to_vector(list), list); };
     }},
    {"clip_grad_norm", 20000,
     [](int n) -> Action {
       auto list = leaves(n);
       for (const Tensor& t : list) with_gradient(t);
       return [list] { optim::clip_grad_norm_(list, 1.0); };
     }},
    {"SGD_step", 20000, [](int n) { return optimizer_step<optim::SGD>(n, optim::SGDOptions{.lr = 0.1}); }},
    {"Adam_step", 20000, [](int n) { return optimizer_step<optim::Adam>(n, optim::AdamOptions{}); }},
    {"Muon_step", 5000,
     [](int n) -> Action {
       std::vector<Tensor> list;
       for (int i = 0; i < n; ++i) list.push_back(with_gradient(ones({1, 1}).requires_grad_()));
       auto optimizer = std::make_shared<optim::Muon>(list, optim::MuonOptions{.lr = 0.1});
       return [optimizer] { optimizer->step(); };
     }},
    {"optimizer_state", 20000,
     [](int n) -> Action {
       auto list = leaves(n);
       for (const Tensor& t : list) with_gradient(t);
       auto adam = std::make_shared<optim::Adam>(list);
       adam->step();
       return [adam] { adam->load_state_dict(adam->state_dict()); };
     }},
    {"AveragedModel", 20000,
     [](int n) -> Action {
       auto model = std::make_shared<nn::ParameterList>(parameters(n));
       auto average = std::make_shared<optim::AveragedModel<nn::ParameterList>>(*model);
       return [model, average] {
         average->update_parameters(*model);
         average->update_parameters(*model);
       };
     }},
    {"DataLoader", 100000,
     [](int n) -> Action {
       return [n] {
         data::DataLoader loader(Items{n}, {.batch_size = 4, .shuffle = true, .num_workers = 0});
         for (const auto& batch : loader) EXPECT_TRUE(batch.defined());
       };
     }},
    {"samplers", 100000,
     [](int n) -> Action {
       return [n] {
         const auto size = static_cast<std::size_t>(n);
         std::vector<std::int64_t> lengths(size);
         for (std::size_t i = 0; i < size; ++i) lengths[i] = static_cast<std::int64_t>(i % 7);
         data::RandomSampler(n).indices(1, 2);
         data::WeightedRandomSampler(std::vector<double>(size, 1.0), n).indices(1, 2);
         data::WeightedRandomSampler(std::vector<double>(size, 1.0), n, false).indices(1, 2);
         data::BucketSampler(lengths, 4).indices(1, 2);
         data::DistributedSampler(n, 0, 2).indices(1, 2);
       };
     }},
    {"WeightedRandomSampler_zeros", 20000,
     [](int n) -> Action {
       return [n] {
         std::vector<double> weights(static_cast<std::size_t>(n), 0.0);
         weights[0] = 1;
         data::WeightedRandomSampler(weights, n).indices(1, 2);
       };
     }},
    {"ConcatDataset", 20000,
     [](int n) -> Action {
       return [set = data::ConcatDataset<Items>(std::vector<Items>(static_cast<std::size_t>(n), Items{1})), n] {
         for (int i = 0; i < n; ++i) set.get(i);
       };
     }},
    {"random_split", 100000,
     [](int n) -> Action {
       return [n] {
         const auto parts = data::random_split(Items{n}, std::vector<std::int64_t>(static_cast<std::size_t>(n), 1));
         for (const auto& part : parts) part.get(0);
       };
     }},
    {"graph_chain", 100000,
     [](int n) -> Action { return [n] { chain(ones({2}).requires_grad_(), n).sum().backward(); }; }},
    {"graph_chain_dropped", 100000, [](int n) -> Action { return [n] { chain(ones({2}).requires_grad_(), n); }; }},
    {"graph_fan_out", 20000,
     [](int n) -> Action {
       return [n] {
         const Tensor x = ones({2}).requires_grad_();
         Tensor y = sin(x);
         std::vector<Tensor> all;
         for (int i = 0; i < n; ++i) all.push_back(cos(y));
         stack(all).sum().backward();
       };
     }},
    {"graph_fan_in", 20000,
     [](int n) -> Action {
       return [list = leaves(n)] {
         Tensor sum = zeros({2});
         for (const Tensor& t : list) sum = sum + t;
         sum.sum().backward();
       };
     }},
    {"grad_of_many_inputs", 20000,
     [](int n) -> Action { return [list = leaves(n)] { grad({stack(list).sum()}, list); }; }},
    {"grad_of_many_outputs", 20000,
     [](int n) -> Action {
       return [n] {
         const Tensor x = ones({}).requires_grad_();
         std::vector<Tensor> all;
         for (int i = 0; i < n; ++i) all.push_back(sin(x));
         grad(all, {x});
       };
     }},
    {"grad_twice", 20000,
     [](int n) -> Action {
       return [n] {
         const Tensor x = ones({}).requires_grad_();
         const Tensor first = grad(chain(x, n), x, {.create_graph = true});
         grad(first, x);
       };
     }},
    {"checkpoint", 10000,
     [](int n) -> Action {
       return [n] {
         Tensor y = ones({2}).requires_grad_();
         for (int i = 0; i < n; ++i) y = checkpoint([](const Tensor& t) { return sin(t); }, y);
         y.sum().backward();
       };
     }},
    {"in_place_chain", 20000,
     [](int n) -> Action {
       return [n] {
         Tensor x = ones({2}).requires_grad_(), y = sin(x);
         for (int i = 0; i < n; ++i) y.mul_(1.01);
         y.sum().backward();
       };
     }},
    {"cat_stack_split", 100000,
     [](int n) -> Action {
       return [n] {
         const Tensor x = ones({n, 1}).requires_grad_();
         const std::vector<Tensor> parts = split(x, 1);
         (cat(parts).sum() + stack(parts).sum() + stack(unbind(x)).sum()).backward();
       };
     }},
    {"anomaly", 5000,
     [](int n) -> Action {
       return [n] {
         const DetectAnomalyGuard guard;
         chain(ones({2}).requires_grad_(), n).sum().backward();
       };
     }},
    {"gradient_hooks", 20000,
     [](int n) -> Action {
       return [n] {
         const Tensor x = ones({2}).requires_grad_();
         for (int i = 0; i < n; ++i) register_hook(x, [](const Tensor& g) { return g; });
         sin(x).sum().backward();
       };
     }},
    {"captured_step", 10000,
     [](int n) -> Action {
       return [n] {
         CapturedStep step([n](const Tensor& x) { return chain(x, n); }, {.warm_up = 1});
         for (int i = 0; i < 5; ++i) step(ones({2}));
       };
     }},
    {"captured_parameters", 5000,
     [](int n) -> Action {
       return [n] {
         const auto list = leaves(n);
         optim::SGD sgd(list, {.lr = 0.1});
         CapturedStep step(
             [&] {
               sgd.zero_grad();
               Tensor loss = stack(list).sum();
               loss.backward();
               sgd.step();
               return loss.detach();
             },
             {.warm_up = 1});
         for (int i = 0; i < 5; ++i) step();
       };
     }},
    {"safetensors", 20000,
     [](int n) -> Action {
       return [dict = dict_of(n), path = path_of("many.safetensors")] {
         save(dict, path);
         EXPECT_EQ(load(path).size(), dict.size());
       };
     }},
    {"safetensors_shards", 2000,
     [](int n) -> Action {
       return [dict = dict_of(n), path = path_of("shards.safetensors")] {
         save(dict, path, SaveOptions{.max_shard_bytes = 40});
         EXPECT_EQ(load(path + ".index.json").size(), dict.size());
       };
     }},
    {"npz", 10000,
     [](int n) -> Action {
       return [dict = dict_of(n), path = path_of("many.npz")] {
         save(dict, path);
         EXPECT_EQ(load(path).size(), dict.size());
       };
     }},
    {"load_renamed", 20000,
     [](int n) -> Action {
       const std::string path = path_of("renamed.safetensors");
       save(dict_of(n), path);
       return [path] { load(path, {.prefix = "entry", .rename = {{"entry", "e"}}}); };
     }},
    {"Checkpoint_tensors", 5000,
     [](int n) -> Action {
       return [n] {
         StateDict dict = dict_of(n);
         Checkpoint checkpoint(path_of("checkpoint" + std::to_string(n)));
         checkpoint.add("dict", dict);
         checkpoint.save();
         checkpoint.resume();
       };
     }},
    {"Checkpoint_parts", 2000,
     [](int n) -> Action {
       return [n] {
         std::vector<Tensor> list(static_cast<std::size_t>(n), ones({1}));
         Checkpoint checkpoint(path_of("parts" + std::to_string(n)));
         for (int i = 0; i < n; ++i) checkpoint.add(name_of_entry(i), list[static_cast<std::size_t>(i)]);
         checkpoint.save();
         checkpoint.resume();
       };
     }},
    {"unique_and_sort", 200000, [](int n) -> Action { return [x = randint(0, n, {n})] { unique(x, true, true); }; }},
    {"pad_sequence", 50000,
     [](int n) -> Action { return [list = leaves(n)] { nn::pad_sequence(list, {.batch_first = true}); }; }},
};

class Growing : public testing::TestWithParam<Growth> {};

TEST_P(Growing, NotWithTheSquare) {
  // A square would be 100 or more.  Ten times the entries leave the caches of the processor, which is a factor of 2 to
  // 4.
  constexpr double kMost = 45;
  double ratio = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const double small = std::max(seconds_of(GetParam(), GetParam().entries / 10), 1e-6);
    const double large = seconds_of(GetParam(), GetParam().entries);
    ratio = attempt == 0 ? large / small : std::min(ratio, large / small);
    if (ratio <= kMost) break;
    std::printf("  %s small %.3f ms large %.3f ms ratio %.1f\n", GetParam().name, small * 1e3, large * 1e3,
                large / small);
  }
  EXPECT_LE(ratio, kMost) << "of the times of " << GetParam().entries << " and a tenth of it";
}

INSTANTIATE_TEST_SUITE_P(Entries, Growing, testing::ValuesIn(kGrowths),
                         [](const auto& growth) { return std::string(growth.param.name); });

}  // namespace
