#include <algorithm>
#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>
#include <minnow/autograd/checkpoint.h>
#include <minnow/minnow.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/profile/observers.h>
#include <minnow/tensor/runtime/calling_thread.h>
#include "data/files.h"
#include "support/thrown.h"

/// profile::Trace: what is in the file.
namespace minnow {
namespace {

using io::detail::JsonReader;
using test::error_of;
using test::expect_contains;

struct TracedEvent {
  std::string phase, name, category, args;
  int thread = 0;
  double begin = 0, duration = 0;
  std::int64_t id = 0;

  double end() const { return begin + duration; }
  bool contains(const TracedEvent& other) const {
    return thread == other.thread && begin <= other.begin && other.end() <= end() + 1e-9;
  }
};

/// What follows "key": in a line, up to a comma or a brace.
std::string json_field(const std::string& line, const std::string& key) {
  const auto at = line.find("\"" + key + "\":");
  if (at == std::string::npos) return "";
  const auto begin = at + key.size() + 3;
  if (line[begin] == '"') return line.substr(begin + 1, line.find('"', begin + 1) - begin - 1);
  if (line[begin] == '{') return line.substr(begin, line.find('}', begin) - begin + 1);
  return line.substr(begin, line.find_first_of(",}", begin) - begin);
}
double json_number(const std::string& text) { return text.empty() ? 0 : std::stod(text); }

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The events of a file, which must be JSON.
std::vector<TracedEvent> events_of(const std::filesystem::path& path) {
  const std::string text = text_of(path);
  try {
    JsonReader reader(text);
    std::set<std::string> members;
    reader.object("a trace", [&](std::string name) {
      members.insert(name);
      reader.skip_value();
    });
    reader.end();
    EXPECT_TRUE(members.contains("traceEvents"));
  } catch (const io::detail::Refusal& refusal) {
    ADD_FAILURE() << "not JSON: found " << refusal.found << ", expected " << refusal.expected;
  }
  std::vector<TracedEvent> events;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("{\"ph\""))
      events.push_back({json_field(line, "ph"), json_field(line, "name"), json_field(line, "cat"),
                        json_field(line, "args"), static_cast<int>(json_number(json_field(line, "tid"))),
                        json_number(json_field(line, "ts")), json_number(json_field(line, "dur")),
                        static_cast<std::int64_t>(json_number(json_field(line, "id")))});
  return events;
}

std::vector<TracedEvent> named_events(const std::vector<TracedEvent>& events, const std::string& name,
                                      const std::string& category = "") {
  std::vector<TracedEvent> found;
  std::copy_if(events.begin(), events.end(), std::back_inserter(found), [&](const TracedEvent& e) {
    return e.phase == "X" && e.name == name && (category.empty() || e.category == category);
  });
  return found;
}
TracedEvent one_event(const std::vector<TracedEvent>& events, const std::string& name,
                      const std::string& category = "") {
  const auto found = named_events(events, name, category);
  EXPECT_EQ(found.size(), 1U) << name;
  return found.empty() ? TracedEvent() : found[0];
}

/// Of each thread: in the order in which they begin, and each within those that are open.
void expect_nested(const std::vector<TracedEvent>& events) {
  std::map<int, std::vector<TracedEvent>> open;
  std::map<int, double> last;
  for (const TracedEvent& e : events) {
    if (e.phase != "X" || e.category == "device") continue;
    EXPECT_GE(e.duration, 0) << e.name;
    EXPECT_GE(e.begin, last[e.thread]) << e.name;
    last[e.thread] = e.begin;
    auto& stack = open[e.thread];
    while (!stack.empty() && stack.back().end() <= e.begin) stack.pop_back();
    if (!stack.empty()) { EXPECT_TRUE(stack.back().contains(e)) << e.name << " in " << stack.back().name; }
    stack.push_back(e);
  }
}

struct TracedBlock : nn::Module {
  nn::Linear attention = child("attention", nn::Linear(8, 8));
  Tensor forward(const Tensor& x) override { return x + attention(x); }
};
struct TracedNet : nn::Module {
  nn::ModuleList layers = child("layers", nn::ModuleList());
  nn::Linear fc1 = child("fc1", nn::Linear(8, 3));
  TracedNet() {
    layers.push_back(TracedBlock());
    layers.push_back(TracedBlock());
  }
  Tensor forward(const Tensor& x) override {
    Tensor h = x;
    for (nn::Module& layer : layers) h = relu(layer(h));
    return fc1(h);
  }
};

class Trace : public test::TempFolder {
 protected:
  std::string file() const { return folder_ / "step.json"; }
  std::vector<TracedEvent> events() const { return events_of(file()); }
};

TEST_F(Trace, StepIsNestedAndModulesHaveTheirPaths) {
  TracedNet net;
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  const Tensor x = randn({4, 8}), y = zeros({4}, {.dtype = DType::int64});
  {
    const profile::Trace trace(file());
    const profile::Range range("my \"step\"");
    nn::cross_entropy(net(x), y).backward();
    sgd.step();
  }
  const auto all = events();
  expect_nested(all);
  const TracedEvent root = one_event(all, "TracedNet", "module"), block = one_event(all, "layers.1", "module"),
                    layer = one_event(all, "layers.1.attention", "module");
  EXPECT_TRUE(root.contains(block));
  EXPECT_TRUE(block.contains(layer));
  EXPECT_NE(layer.args.find("\"type\":\"Linear\""), std::string::npos) << layer.args;
  EXPECT_TRUE(one_event(all, "fc1", "module").duration <= root.duration);
  const auto linears = named_events(all, "linear", "operation");
  ASSERT_EQ(linears.size(), 3U);
  EXPECT_TRUE(layer.contains(linears[1]));
  EXPECT_EQ(named_events(all, "linear", "backward").size(), 3U);
  EXPECT_TRUE(one_event(all, "backward").contains(named_events(all, "relu", "backward")[0]));
  EXPECT_EQ(named_events(all, "SGD::step").size(), 1U);
  EXPECT_EQ(named_events(all, "my \\").size(), 1U) << "quotes are escaped";
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const TracedEvent& e) {
    return e.phase == "C" && e.name == "memory of cpu" && json_number(json_field(e.args, "value")) > 0;
  }));
}

TEST_F(Trace, OperationsHaveShapesAndLines) {
  const Tensor a = ones({2, 3}), b = ones({3, 4}, {.dtype = DType::float64}).to(DType::float32);
  const profile::Trace made(folder_ / "other.json");
  profile::Trace trace(file());
  const Tensor c = matmul(a, b);
  const unsigned line = __LINE__ - 1;
  const Tensor d = a.transpose(0, 1);
  trace.save();
  const Tensor later = a + a;
  trace.save();
  const TracedEvent product = one_event(events(), "matmul");
  const std::string args = text_of(file());
  EXPECT_NE(args.find("\"at\":\"trace_test.cpp:" + std::to_string(line) +
                      "\",\"operands\":[\"float32[2, 3]\",\"float32[3, 4]\"],\"device\":\"cpu\"}"),
            std::string::npos)
      << args;
  EXPECT_EQ(named_events(events(), "transpose").size(), 1U);
  EXPECT_TRUE(named_events(events(), "add").empty()) << "it is after save()";
}

TEST_F(Trace, ArrowsJoinOperationsAndTheirGradients) {
  TracedNet net;
  const Tensor x = randn({4, 8}), before = sum(net(x));
  {
    const profile::Trace trace(file());
    (sum(net(x)) + before).backward();
  }
  const auto all = events();
  std::map<std::int64_t, TracedEvent> made;
  int joined = 0;
  for (const TracedEvent& e : all)
    if (e.phase == "s") made[e.id] = e;
  for (const TracedEvent& e : all) {
    if (e.phase != "f") continue;
    ASSERT_TRUE(made.contains(e.id));
    const auto begins_at = [&](const TracedEvent& arrow, const std::string& category) {
      return std::find_if(all.begin(), all.end(), [&](const TracedEvent& other) {
        return other.category == category && other.thread == arrow.thread && other.begin == arrow.begin;
      });
    };
    const auto operation = begins_at(made[e.id], "operation"), gradient = begins_at(e, "backward");
    ASSERT_TRUE(operation != all.end() && gradient != all.end());
    EXPECT_EQ(operation->name, gradient->name);
    EXPECT_LT(operation->end(), gradient->begin);
    ++joined;
  }
  // 3 of linear, 2 of relu, 3 sums of two, the sum; those from before the trace have no arrow
  EXPECT_EQ(joined, 9);
  EXPECT_EQ(static_cast<int>(made.size()), joined);
  EXPECT_EQ(named_events(all, "linear", "backward").size(), 6U);
}

TEST_F(Trace, LoaderIsInItsThreads) {
  const Tensor x = randn({64, 8}), y = arange(64);
  data::DataLoader loader{data::TensorDataset{x, y}, {.batch_size = 8, .num_workers = 2, .device = "sim:0"}};
  {
    const profile::Trace trace(file());
    for (auto& [images, labels] : loader) (void)(images * 2);
  }
  const auto all = events();
  expect_nested(all);
  std::map<int, std::string> threads;
  for (const TracedEvent& e : all)
    if (e.phase == "M") threads[e.thread] = json_field(e.args, "name");
  const TracedEvent product = named_events(all, "mul")[0];
  const auto batches = named_events(all, "make batch"), waits = named_events(all, "wait for batch"),
             copies = named_events(all, "copy to device", "range");
  EXPECT_EQ(batches.size(), 8U);
  EXPECT_EQ(waits.size(), 8U);
  EXPECT_EQ(copies.size(), 8U);
  for (const TracedEvent& e : batches) {
    EXPECT_NE(e.thread, product.thread);
    EXPECT_TRUE(threads[e.thread].starts_with("loader ")) << threads[e.thread];
  }
  for (const TracedEvent& e : waits) EXPECT_EQ(e.thread, product.thread);
  EXPECT_EQ(json_field(copies[0].args, "bytes"), std::to_string(8 * (8 * 4 + 8)));
  const auto spans = named_events(all, "copy to device", "device");
  ASSERT_EQ(spans.size(), 8U);
  EXPECT_EQ(threads[spans[0].thread], "copies of sim:0");
  for (const TracedEvent& e : spans) EXPECT_LT(e.begin, waits.back().end());
  EXPECT_EQ(std::count_if(all.begin(), all.end(),
                          [](const TracedEvent& e) { return e.phase == "C" && e.name == "batches that wait"; }),
            8);
}

TEST_F(Trace, MayBeginAndEndInAnEpoch) {
  data::DataLoader loader{data::TensorDataset{randn({640, 8})}, {.batch_size = 8, .num_workers = 2, .prefetch = 2}};
  int step = 0;
  std::optional<profile::Trace> trace;
  for (auto& [x] : loader) {
    if (step == 10) trace.emplace(file());
    if (step == 20) trace.reset();
    (void)(x + step++);
  }
  const auto all = events();
  expect_nested(all);
  EXPECT_EQ(named_events(all, "add").size(), 10U);
  EXPECT_EQ(named_events(all, "wait for batch").size(), 10U);
  EXPECT_GE(named_events(all, "make batch").size(), 5U);
  EXPECT_LE(named_events(all, "make batch").size(), 14U);
}

TEST_F(Trace, FileThatCannotBeWritten) {
  const std::string text = error_of<IoError>([&] { const profile::Trace trace(folder_ / "none/step.json"); });
  for (const char* part : {"Trace", "none", "trace_test.cpp"}) expect_contains(text, part);
  expect_contains(error_of<ValueError>([&] { const profile::Trace trace(file(), {.max_events = 0}); }), "max_events");
  EXPECT_EQ(calling_thread.observer, nullptr);
  EXPECT_EQ(calling_thread.scopes, nullptr);
  std::vector<std::string> warnings;
  const auto before = set_warning_handler([&](const std::string& warning) { warnings.push_back(warning); });
  {
    const profile::Trace trace(file());
    std::filesystem::remove_all(folder_);
  }
  set_warning_handler(before);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("step.json"), std::string::npos) << warnings[0];
  EXPECT_EQ(calling_thread.observer, nullptr);
}

struct ThrowingNet : nn::Module {
  nn::Linear fc = child("fc", nn::Linear(8, 8));
  Tensor forward(const Tensor& x) override { return fc(x) + ones({3}); }
};

TEST_F(Trace, ExceptionsLeaveModules) {
  ThrowingNet thrower;
  const profile::Table table;
  try {
    const profile::Trace trace(file());
    thrower(randn({2, 8}));
    FAIL();
  } catch (const ShapeError&) {}
  EXPECT_EQ(nn::detail::Call::path(), "");
  const auto all = events();
  expect_nested(all);
  EXPECT_TRUE(one_event(all, "ThrowingNet").contains(one_event(all, "fc")));
  EXPECT_TRUE(one_event(all, "ThrowingNet").contains(one_event(all, "add")));
  EXPECT_EQ(table.rows().size(), 2U);
}

TEST_F(Trace, SeveralAtOnce) {
  const Tensor x = ones({3});
  std::string path[4];
  for (int i = 0; i < 4; ++i) path[i] = folder_ / ("t" + std::to_string(i) + ".json");
  auto first = std::make_unique<profile::Trace>(path[0]);
  auto second = std::make_unique<profile::Trace>(path[1]);
  const profile::OperationCounts counts;
  const Tensor y = x + x;
  first.reset();  // not the inner one first
  const Tensor z = x * x;
  second.reset();
  const auto work = [&](const std::string& to) {
    const profile::Trace trace(to);
    for (int i = 0; i < 100; ++i) (void)(x - static_cast<double>(i));
  };
  std::thread other([&] { work(path[2]); });
  work(path[3]);
  other.join();
  EXPECT_EQ(named_events(events_of(path[0]), "add").size(), 1U);
  EXPECT_EQ(named_events(events_of(path[0]), "mul").size(), 0U);
  EXPECT_EQ(named_events(events_of(path[1]), "add").size(), 1U) << "both record";
  EXPECT_EQ(named_events(events_of(path[1]), "mul").size(), 1U);
  for (int i = 2; i < 4; ++i) EXPECT_EQ(named_events(events_of(path[i]), "sub").size(), 100U);
  EXPECT_EQ(counts.rows().size(), 3U);
  {
    const profile::Trace outer(path[0]);
    const profile::Trace inner(path[1]);
    data::DataLoader loader{data::TensorDataset{x}, {.num_workers = 1}};
    for (auto& [row] : loader) (void)(row + 1);
  }
  for (int i = 0; i < 2; ++i)
    for (const char* name : {"add", "make batch", "wait for batch"})
      EXPECT_EQ(named_events(events_of(path[i]), name).size(), 1U) << i << name;
}

TEST_F(Trace, LimitCountsWhatIsLeftOut) {
  const Tensor x = ones({3}).requires_grad_();
  profile::Trace trace(file(), {.max_events = 10});
  for (int i = 0; i < 20; ++i) sum(x * 2).backward();
  trace.save();
  const auto all = events();
  expect_nested(all);
  EXPECT_EQ(
      std::count_if(all.begin(), all.end(), [](const TracedEvent& e) { return e.phase == "X" || e.phase == "C"; }), 10);
  EXPECT_GT(trace.left_out(), 90);
  EXPECT_NE(text_of(file()).find("\"left_out\":" + std::to_string(trace.left_out())), std::string::npos);
}

TEST_F(Trace, LimitKeepsTheFirstOfAllThreads) {
  data::DataLoader loader{data::TensorDataset{randn({200, 8})}, {.batch_size = 1, .num_workers = 1}};
  profile::Trace trace(file(), {.max_events = 300});
  for (auto& [x] : loader) (void)(x * 2);
  trace.save();
  const auto all = events();
  double last_made = 0;
  for (const TracedEvent& e : named_events(all, "make batch")) last_made = std::max(last_made, e.begin);
  const auto products = named_events(all, "mul");
  ASSERT_FALSE(products.empty());
  EXPECT_LT(named_events(all, "make batch").size(), 150U);
  const double last = std::max(products.back().begin, named_events(all, "wait for batch").back().begin);
  EXPECT_LT(last_made - last, 0.5 * last) << "both rows end at about the same time";
  EXPECT_GT(trace.left_out(), 0);
}

TEST_F(Trace, RangesThatDoNotEndInOrder) {
  {
    const profile::Trace trace(file());
    auto range = std::make_unique<profile::Range>("load");
    range = std::make_unique<profile::Range>("compute");  // begins before the other ends
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    (void)(ones({3}) + 1);
    range.reset();
  }
  const auto all = events();
  expect_nested(all);
  EXPECT_LT(one_event(all, "load").duration, 50'000);
  EXPECT_FALSE(one_event(all, "load").contains(one_event(all, "add")));
}

TEST_F(Trace, NamesThatAreNotUtf8) {
  struct Latin : nn::Module {
    nn::ReLU relu = child("schl\xfcssel", nn::ReLU());
    Tensor forward(const Tensor& x) override { return relu(x); }
  } net;
  {
    const profile::Trace trace(file());
    const profile::Range range("cut \xe2\x82");
    const profile::Range good(
        "Gr\xc3\xb6\xc3\x9f"
        "e \xe2\x82\xac");
    net(ones({3}));
  }
  EXPECT_TRUE(io::detail::is_utf8(text_of(file())));
  for (const char* name : {"schl\xef\xbf\xbdssel", "cut \xef\xbf\xbd\xef\xbf\xbd",
                           "Gr\xc3\xb6\xc3\x9f"
                           "e \xe2\x82\xac"})
    EXPECT_EQ(named_events(events(), name).size(), 1U) << name;
}

TEST_F(Trace, OtherThreadsCannotEndIt) {
  profile::Trace trace(file());
  std::thread([&] { EXPECT_THROW(trace.save(), ValueError); }).join();
  EXPECT_DEATH(
      {
        auto times = std::make_unique<profile::StepTimes>();
        std::thread([&] { times.reset(); }).join();
      },
      "destroyed by another thread");
  trace.save();
  events();
}

TEST_F(Trace, FailedSaveCanBeTriedAgain) {
  profile::Trace trace(file());
  (void)(ones({3}) + 1);
  std::filesystem::create_directory(file());
  EXPECT_THROW(trace.save(), IoError);
  EXPECT_THROW(trace.save(), IoError) << "nothing is written yet";
  std::filesystem::remove(file());
  trace.save();
  EXPECT_EQ(named_events(events(), "add").size(), 1U);
}

TEST_F(Trace, ForkedProcessWritesNothing) {
  auto trace = std::make_unique<profile::Trace>(file());
  EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "no file lies there meanwhile";
  const pid_t child = ::fork();
  if (child == 0) {
    trace.reset();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  (void)(ones({3}) + 1);
  trace.reset();
  EXPECT_EQ(named_events(events(), "add").size(), 1U);
}

TEST_F(Trace, ChangesNoNumbers) {
  const auto run = [](bool traced, const std::string& path) {
    manual_seed(0);
    TracedNet net;
    std::optional<profile::Trace> trace;
    std::optional<profile::Table> table;
    if (traced) trace.emplace(path), table.emplace();
    const Tensor loss = sum(square(net(randn({4, 8}))));
    loss.backward();
    const Tensor x = ones({3}).requires_grad_();
    grad(sum(exp(x)), x, {.create_graph = true});
    std::vector<float> values = net.layers[0].parameters()[0].grad().to_vector<float>();
    values.push_back(static_cast<float>(loss.item()));
    return values;
  };
  EXPECT_EQ(run(false, ""), run(true, file()));
}

/// Calls itself.
struct SelfCalling : nn::Module {
  nn::Linear fc = child("fc", nn::Linear(8, 8));
  int depth = 0;
  Tensor forward(const Tensor& x) override {
    if (++depth > 3) return x;
    return fc((*this)(x));
  }
};

TEST_F(Trace, RecursionCheckpointsAndCapturedSteps) {
  SelfCalling deep;
  deep.requires_grad_(false);  // or it is a warning that it does not contain itself
  TracedNet net;
  const Tensor x = randn({4, 8});
  CapturedStep step([&](const Tensor& in) { return sum(net(in)); }, {.device = Device()});
  {
    const profile::Trace trace(file());
    deep(x);
    sum(checkpoint([&](const Tensor& in) { return net(in); }, x)).backward();
    step(x);
  }
  const auto all = events();
  expect_nested(all);
  EXPECT_EQ(named_events(all, "SelfCalling").size(), 4U);
  EXPECT_EQ(named_events(all, "fc").size(), 3U);
  const auto nets = named_events(all, "TracedNet");
  ASSERT_EQ(nets.size(), 3U);
  EXPECT_TRUE(one_event(all, "backward").contains(nets[1])) << "computed again";
}

TEST(CallPath, OfTheModuleThatRuns) {
  TracedNet net;
  std::vector<std::string> paths;
  const auto hook = net.layers[1].register_forward_hook(
      [&](nn::Module&, const Tensor&, const Tensor&) { paths.push_back(nn::detail::Call::path()); });
  const auto root = net.register_forward_hook(
      [&](nn::Module&, const Tensor&, const Tensor&) { paths.push_back(nn::detail::Call::path()); });
  EXPECT_EQ(nn::detail::Call::path(), "");
  net(randn({1, 8}));
  EXPECT_EQ(paths, (std::vector<std::string>{"layers.1", "TracedNet"}));
}

}  // namespace
}  // namespace minnow
