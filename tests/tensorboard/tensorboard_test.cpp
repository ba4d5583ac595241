#include <minnow/tensorboard/tensorboard.h>

#include <cmath>
#include <csignal>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <sys/resource.h>
#include <thread>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensorboard/detail/file.h>
#include <minnow/vision/image.h>

#include "devices.h"
#include "errors.h"
#include "golden.h"
#include "tensorboard/events.h"
#include "thrown.h"
#include "training/memory_folder.h"

namespace minnow::test {
namespace {

using tensorboard::read_scalars, tensorboard::ScalarEvent, tensorboard::Writer;

class TensorBoard : public DeviceTest {
 protected:
  TemporaryFolder folder;
  Writer writer{folder / "runs/a"};

  Tensor there(const Tensor& x) const { return x.to(device()); }
};
INSTANTIATE_TEST_SUITE_P(Devices, TensorBoard, all_devices(), device_test_name);

bool same(const std::vector<ScalarEvent>& a, std::span<const ScalarEvent> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ScalarEvent& x, const ScalarEvent& y) {
    return x.step == y.step && x.name == y.name && x.wall_time == y.wall_time && x.value == y.value;
  });
}

TEST_P(TensorBoard, ScalarsCanBeReadAtOnce) {
  const double began = tensorboard::detail::now();
  std::vector<ScalarEvent> want;
  const auto add = [&](const std::string& name, double value, std::int64_t step) {
    want.push_back({step, 0, name, value});
    const auto found = read_scalars(writer.path());
    ASSERT_EQ(found.size(), want.size());
    const ScalarEvent& got = found.back();
    EXPECT_EQ(got.name, name);
    EXPECT_EQ(got.step, step);
    EXPECT_TRUE(got.value == value || (std::isnan(got.value) && std::isnan(value))) << got.value;
    EXPECT_GE(got.wall_time, began);
    EXPECT_LE(got.wall_time, tensorboard::detail::now());
  };
  writer.add_scalar("train/loss", 0.1, 1), add("train/loss", static_cast<double>(0.1F), 1);
  writer.add_scalar("ü", 3, std::int64_t{1} << 40), add("ü", 3, std::int64_t{1} << 40);
  writer.add_scalar("below", kInfinity, -7), add("below", kInfinity, -7);
  writer.add_scalar("nan", std::nan(""), 0), add("nan", std::nan(""), 0);
  writer.add_scalar("tensor", there(full({1, 1}, 2.5)).requires_grad_(), 2), add("tensor", 2.5, 2);
  writer.add_scalar("integer", there(full({}, 7, int64)), 2), add("integer", 7, 2);
  writer.add_scalar("true", there(full({}, true, bool_)), 2), add("true", 1, 2);
  writer.flush();
}

TEST_P(TensorBoard, HistogramsAreThoseOfPyTorch) {
  const Book book("tensorboard", Device());
  for (const std::string& name : book.cases()) {
    writer.add_histogram(name, there(book[name + "/in0"]), 3);
    auto got = numbers(last_value(writer.path(), 5));
    const auto sums = book[name + "/sums"].to_vector<double>();
    for (std::size_t i = 0; i < sums.size(); ++i) {  // min, max, num, sum, sum_squares
      ASSERT_EQ(got[static_cast<int>(i) + 1].size(), 1) << name;
      EXPECT_NEAR(got[static_cast<int>(i) + 1][0], sums[i], i < 3 ? 0 : 1e-12 * std::abs(sums[i])) << name << i;
    }
    EXPECT_EQ(got[6], book[name + "/limits"].to_vector<double>()) << name;
    EXPECT_EQ(got[7], book[name + "/counts"].to_vector<double>()) << name;
  }
}

TEST_P(TensorBoard, HistogramsLeaveOutWhatIsNotFinite) {
  writer.add_histogram("some", there(tensor({1.0, std::nan(""), kInfinity, -kInfinity, 2.0})), 0);
  auto got = numbers(last_value(writer.path(), 5));
  EXPECT_EQ(got[1], std::vector{1.0});
  EXPECT_EQ(got[2], std::vector{2.0});
  EXPECT_EQ(got[3], std::vector{2.0});
  EXPECT_EQ(got[4], std::vector{3.0});
  writer.add_histogram("none", there(full({2}, kInfinity)), 0);
  EXPECT_EQ(last_value(writer.path(), 5), "");
  writer.add_histogram("far", there(full({2}, 1e30, float64)), 0);
  got = numbers(last_value(writer.path(), 5));
  EXPECT_EQ(got[3], std::vector{2.0});
  EXPECT_EQ(got[7], (std::vector{0.0, 2.0}));
  EXPECT_LT(got[6].back(), 1.1e20);
}

TEST_P(TensorBoard, ImagesArePngFiles) {
  const auto read_back = [&](const Tensor& image) {
    writer.add_image("image", image, 1);
    const std::string value = last_value(writer.path(), 4);
    auto got = numbers(value);
    write_bytes(folder / "image.png", field(value, 4));
    const Tensor read = vision::read_image(folder / "image.png");
    EXPECT_EQ(got[1][0], static_cast<double>(read.size(1)));
    EXPECT_EQ(got[2][0], static_cast<double>(read.size(2)));
    EXPECT_EQ(got[3][0], static_cast<double>(read.size(0)));
    return read;
  };
  for (const std::int64_t channels : {1, 3, 4}) {
    const Tensor image = randint(0, 256, {channels, 5, 7}, uint8);
    expect_close(read_back(there(image)), image, "channels");
    expect_close(read_back(there(image.transpose(1, 2))), image.transpose(1, 2).contiguous(), "strides");
  }
  const Tensor flat = randint(0, 256, {300, 2}, uint8);
  expect_close(read_back(there(flat)), flat.unsqueeze(0), "[H, W]");
  const Tensor numbers = tensor({{0.0, 1.0, 0.5, 0.25}, {-3.0, 7.0, std::nan(""), kInfinity}});
  const Tensor want = tensor({{0, 255, 128, 64}, {0, 255, 0, 255}}).to(uint8).unsqueeze(0);
  for (const DType dtype : {float32, float64, float16, bfloat16})
    expect_close(read_back(there(numbers).to(dtype).requires_grad_()), want, "numbers");
}

TEST(TensorBoardFile, IsANewOneInItsFolder) {
  const TemporaryFolder folder;
  std::vector<std::string> paths;
  {
    Writer a(folder / "deep/run"), b(folder / "deep/run");
    a.add_scalar("x", 1, 0);
    b.add_scalar("x", 2, 1);
    paths = {a.path(), b.path()};
    Writer moved = std::move(a);
    expect_contains(error_of<ValueError>([&] { a.add_scalar("x", 1, 0); }), "was moved from");
    EXPECT_THROW(a.path(), ValueError);
    moved.add_text("text", "**bold**", 0);
    moved.add_scalar("x", 3, 2);
  }
  EXPECT_NE(paths[0], paths[1]);
  EXPECT_TRUE(has(paths[0], folder / "deep/run/events.out.tfevents.")) << paths[0];
  write_bytes(folder / "deep/run/history.csv", "step,epoch,name,value\n");
  const auto found = read_scalars(folder / "deep/run");
  ASSERT_EQ(found.size(), 3);
  EXPECT_EQ(found[1].value, 3);
  EXPECT_EQ(read_scalars(folder / "deep").size(), 0);
  expect_contains(error_of<IoError>([&] { Writer(folder / "deep/run/history.csv"); }), "history.csv' cannot be made");
  expect_contains(error_of<IoError>([&] { read_scalars(folder / "nowhere"); }), "nowhere");
  expect_contains(error_of<FormatError>([&] { read_scalars(folder / "deep/run/history.csv"); }), "is no event file");
}

std::string written(const TemporaryFolder& folder) {
  Writer writer(folder / "run");
  writer.add_scalar("a", 1, 0);
  writer.add_text("text", "some words", 0);
  for (int step = 0; step < 4; ++step) writer.add_scalar("loss", 0.5 * step, step);
  return writer.path();
}

TEST(TensorBoardFile, CutOffAtAnyByteKeepsTheWholeRecords) {
  const TemporaryFolder folder;
  const std::string path = written(folder), bytes = read_bytes(path);
  const auto found = read_scalars(path);
  ASSERT_EQ(found.size(), 5);
  std::vector<std::size_t> ends{0};
  for (const std::string& record : records_of(path)) ends.push_back(ends.back() + record.size() + 16);
  ASSERT_EQ(ends.back(), bytes.size());
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    write_bytes(folder / "cut", bytes.substr(0, size));
    std::size_t whole = 0;  // records 1 and 3 to 6 are scalars
    for (std::size_t i = 2; i < ends.size(); ++i) whole += i != 3 && ends[i] <= size;
    ASSERT_TRUE(same(read_scalars(folder / "cut"), std::span(found).first(whole))) << size;
  }
}

TEST(TensorBoardFile, WithAnyByteFlippedKeepsTheRecordsBefore) {
  const TemporaryFolder folder;
  const std::string path = written(folder), bytes = read_bytes(path);
  const auto found = read_scalars(path);
  std::size_t refused = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (const int bit : {1, 0x80, 0xff}) {
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ bit);
      write_bytes(folder / "flipped", flipped);
      try {
        const auto kept = read_scalars(folder / "flipped");
        ASSERT_LT(kept.size(), found.size()) << at;
        ASSERT_TRUE(same(kept, std::span(found).first(kept.size()))) << at;
      } catch (const FormatError&) { ++refused; }
    }
  EXPECT_EQ(refused, 3 * 12) << "only the first header says what the file is";
}

std::string bytes_of(const auto& number) { return {reinterpret_cast<const char*>(&number), sizeof(number)}; }
std::string record(std::uint64_t length, const std::string& data) {
  using tensorboard::detail::masked_checksum;
  const std::string header = bytes_of(length);
  return header + bytes_of(masked_checksum(header)) + data + bytes_of(masked_checksum(data));
}

TEST(TensorBoardFile, OfAnyLengthIsReadInLittleMemory) {
  EXPECT_EQ(tensorboard::detail::masked_checksum("123456789"), (0xe3069283U >> 15 | 0xe3069283U << 17) + 0xa282ead8U);
  const TemporaryFolder folder;
  const std::string path = written(folder), bytes = read_bytes(path);
  for (const std::uint64_t length : {std::uint64_t{1} << 62, ~std::uint64_t{0}, ~std::uint64_t{0} - 15, bytes.size()}) {
    write_bytes(folder / "long", bytes + record(length, "x") + bytes);
    EXPECT_EQ(read_scalars(folder / "long").size(), 5) << length;
  }
  // A record of 1 TiB that is there, of nothing.
  write_bytes(folder / "sparse", record(std::uint64_t{1} << 40, "x").substr(0, 12));
  std::filesystem::resize_file(folder / "sparse", (std::uint64_t{1} << 40) + 16);
  std::ofstream(folder / "sparse", std::ios::binary | std::ios::app) << bytes;
  EXPECT_EQ(read_scalars(folder / "sparse").size(), 5);
  write_bytes(folder / "other", record(5,
                                       "\x0a\x7f"
                                       "abc"));
  expect_contains(error_of<FormatError>([&] { read_scalars(folder / "other"); }), "is no event file");
  for (const char* const text : {"no event", "no", "no event file"}) {
    write_bytes(folder / "other", text);
    expect_contains(error_of<FormatError>([&] { read_scalars(folder / "other"); }), "is no event file");
  }
}

TEST(TensorBoardFile, WithNoEventInARecordKeepsTheRecordsBefore) {
  const TemporaryFolder folder;
  const std::string bytes = read_bytes(written(folder));
  write_bytes(folder / "damaged", bytes +
                                      record(5,
                                             "\x0a\x7f"
                                             "abc") +
                                      bytes);
  EXPECT_EQ(read_scalars(folder / "damaged").size(), 5);
}

TEST(TensorBoardFile, IsReadBesideAFolderOfASimilarName) {
  const TemporaryFolder folder;
  const Writer writer(folder / "run");
  std::filesystem::create_directories(folder / "run/old_tfevents");
  EXPECT_EQ(read_scalars(folder / "run").size(), 0);
}

/// The IoError of a call while files cannot grow larger.
std::string error_with_files_of(std::uintmax_t size, const std::function<void()>& call) {
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit less{size, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &less);
  std::string text;
  try {
    call();
  } catch (const IoError& error) { text = error.what(); }
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  return text;
}

TEST(TensorBoardFile, HasAllHyperparametersOrNone) {
  const TemporaryFolder folder;
  Writer writer(folder / "run");
  const auto size = std::filesystem::file_size(writer.path());
  const auto add = [&] { writer.add_hparams({{"lr", 0.1}}, {{"accuracy", 0.5}}); };
  const std::string text = error_with_files_of(size + 100, add);  // the first of four records fits
  expect_contains(text, "cannot write");
  expect_contains(text, "raise the limit of a file's size");
  EXPECT_EQ(std::filesystem::file_size(writer.path()), size);
  add();
  EXPECT_EQ(read_scalars(writer.path()).size(), 1);
}

TEST(TensorBoardFile, IsRefusedForAFolderWithAZeroByte) {
  const TemporaryFolder folder;
  const std::string path = folder / std::string("a\0b", 3);
  expect_contains(error_of<IoError>([&] { Writer writer(path); }), "zero byte");
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
}

TEST(TensorBoardFile, StaysWholeWhereTheDiskIsFull) {
  const TemporaryFolder folder;
  Writer writer(folder / "run");
  writer.add_scalar("a", 1, 0);
  const auto size = std::filesystem::file_size(writer.path());
  const std::string text = error_with_files_of(size + 20, [&] { writer.add_scalar("b", 2, 0); });
  expect_contains(text, "cannot write");
  EXPECT_EQ(std::filesystem::file_size(writer.path()), size);
  writer.add_scalar("c", 3, 0);
  const auto found = read_scalars(writer.path());
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(found[1].name, "c");
}

TEST(TensorBoardFile, IsWrittenByManyThreads) {
  const TemporaryFolder folder;
  Writer writer(folder / "run");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&writer, t] {
      for (int i = 0; i < 200; ++i) writer.add_scalar("thread " + std::to_string(t), i, i);
    });
  for (std::thread& thread : threads) thread.join();
  std::map<std::string, std::int64_t> next;
  for (const ScalarEvent& e : read_scalars(writer.path())) EXPECT_EQ(e.step, next[e.name]++);
  for (const auto& [name, count] : next) EXPECT_EQ(count, 200);
  EXPECT_EQ(next.size(), 4);
}

TEST(TensorBoardErrors, NameWhatIsWrong) {
  const TemporaryFolder folder;
  Writer w(folder / "run");
  using HParams = std::map<std::string, tensorboard::HParam>;
  using Metrics = std::map<std::string, double>;
  const Metrics metrics{{"accuracy", 0.5}}, no_name{{"", 0.5}};
  const HParams good{{"a", 1}}, nameless{{"", 1}}, bytes{{"a", "\xc0"}};
  const Tensor none, empty = zeros({0}), two = zeros({2, 3}), planes = zeros({2, 2, 3}), flat = zeros({3, 0, 3}),
                     batch = zeros({1, 3, 2, 2}), integers = zeros({2, 3}, int64), mask = zeros({2, 3}, bool_);
  const auto size = std::filesystem::file_size(w.path());
  expect_errors({
      Misuse{"ValueError", "add_scalar", "\"\" is no name", [&] { w.add_scalar("", 1, 0); }},
      Misuse{"ValueError", "add_scalar", "is not UTF-8", [&] { w.add_scalar("\xff", 1, 0); }},
      Misuse{"ValueError", "add_scalar", kUndefined, [&] { w.add_scalar("a", none, 0); }},
      Misuse{"ShapeError", "add_scalar", kShown, [&] { w.add_scalar("a", two, 0); }},
      Misuse{"ValueError", "add_histogram", "float32[0]", [&] { w.add_histogram("a", empty, 0); }},
      Misuse{"ValueError", "add_histogram", kUndefined, [&] { w.add_histogram("a", none, 0); }},
      Misuse{"ValueError", "add_image", kUndefined, [&] { w.add_image("a", none, 0); }},
      Misuse{"ShapeError", "add_image", "float32[2, 2, 3]", [&] { w.add_image("a", planes, 0); }},
      Misuse{"ShapeError", "add_image", "float32[3, 0, 3]", [&] { w.add_image("a", flat, 0); }},
      Misuse{"ShapeError", "add_image", "float32[1, 3, 2, 2]", [&] { w.add_image("a", batch, 0); }},
      Misuse{"DTypeError", "add_image", "int64[2, 3]", [&] { w.add_image("a", integers, 0); }},
      Misuse{"DTypeError", "add_image", ".to(float32)", [&] { w.add_image("a", mask, 0); }},
      Misuse{"ValueError", "add_text", "is no name", [&] { w.add_text("", "a", 0); }},
      Misuse{"ValueError", "add_text", "is not UTF-8", [&] { w.add_text("a", "\xc0", 0); }},
      Misuse{"ValueError", "add_hparams", "is no name", [&] { w.add_hparams(nameless, metrics); }},
      Misuse{"ValueError", "add_hparams", "is not UTF-8", [&] { w.add_hparams(bytes, metrics); }},
      Misuse{"ValueError", "add_hparams", "is no name", [&] { w.add_hparams(good, no_name); }},
  });
  EXPECT_EQ(std::filesystem::file_size(w.path()), size);
  w.add_hparams({{"lr", 1e-3}, {"layers", 3}, {"optimizer", "adam"}, {"amp", true}}, metrics);
  expect_contains(error_of<ValueError>([&] { w.add_hparams({{"lr", 1}}, metrics); }), "has its hyperparameters");
  EXPECT_EQ(read_scalars(w.path()).size(), 1);
}

}  // namespace
}  // namespace minnow::test
