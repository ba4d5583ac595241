#include <gtest/gtest.h>
#include <sys/stat.h>
#include <minnow/data/idx.h>
#include <minnow/data/mnist.h>
#include <minnow/tensor/error.h>
#include "data/files.h"
#include "errors.h"

/// Bad files of the readers of data sets.
namespace minnow {
namespace {

using test::Bytes;
using test::expect_errors;
using test::gzip;
using test::idx;
using test::Misuse;
using namespace data;

class ErrorsOfReaders : public test::TempFolder {};

TEST_F(ErrorsOfReaders, ReadIdx) {
  const Bytes good = idx(8, {2}, {1, 2});
  Bytes longer = good, shorter = good, damaged = gzip(good), headless = good;
  longer.push_back(0);
  shorter.pop_back();
  damaged.pop_back();
  headless.resize(6);
  const std::string page = "<!DOCTYPE html>";
  const auto pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  int count = 0;
  const auto file = [&](const Bytes& bytes, const char* end = "") {
    return write("f" + std::to_string(count++) + end, bytes);
  };
  const auto none = file(Bytes{}), text = file(Bytes(page.begin(), page.end())), type = file(idx(7, {2}, {1, 2}));
  const auto rank = file(Bytes{0, 0, 8, 9}), over = file(longer), under = file(shorter), cut = file(headless);
  const auto packed = file(damaged, ".gz"), unpacked = file(good, ".gz"), labels = file(good);
  const auto large = file(idx(8, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, {}));
  expect_errors({
      Misuse{"IoError", "read_idx", "/nowhere/f", [] { read_idx("/nowhere/f"); }},
      Misuse{"IoError", "read_idx", "a directory", [this] { read_idx(folder_); }},
      Misuse{"IoError", "read_idx", "a pipe", [=] { read_idx(pipe); }},
      Misuse{"FormatError", "read_idx", "an empty file", [=] { read_idx(none); }},
      Misuse{"FormatError", "read_idx", "a web page", [=] { read_idx(text); }},
      Misuse{"FormatError", "read_idx", "unknown element type", [=] { read_idx(type); }},
      Misuse{"FormatError", "read_idx", "impossible rank", [=] { read_idx(rank); }},
      Misuse{"FormatError", "read_idx", "impossible size", [=] { read_idx(large); }},
      Misuse{"FormatError", "read_idx", "ends within its header", [=] { read_idx(cut); }},
      Misuse{"FormatError", "read_idx", "is too long", [=] { read_idx(over); }},
      Misuse{"FormatError", "read_idx", "is too short", [=] { read_idx(under); }},
      Misuse{"FormatError", "read_idx", "truncated", [=] { read_idx(packed); }},
      Misuse{"FormatError", "read_idx", "is not gzip", [=] { read_idx(unpacked); }},
      Misuse{"FormatError", "read_idx", "rank 3", [=] { read_idx(labels, {.rank = 3}); }},
      Misuse{"FormatError", "read_idx", "float32", [=] { read_idx(labels, {.dtype = DType::float32}); }},
  });
}

TEST_F(ErrorsOfReaders, MnistAndFashionMnist) {
  using Reader = std::function<void(const std::filesystem::path&, double, SourceLocation)>;
  const std::pair<const char*, Reader> readers[] = {{"mnist",
                                                     [](const auto& root, double d, SourceLocation l) {
                                                       mnist("train", {root, 0, d}, l);
                                                     }},
                                                    {"fashion_mnist", [](const auto& root, double d, SourceLocation l) {
                                                       fashion_mnist("train", {root, 0, d}, l);
                                                     }}};
  const Bytes images = idx(8, {2, 1, 2}, {1, 2, 3, 4}), labels = idx(8, {2}, {1, 2});
  const auto folder = [&](const std::string& name, const Bytes& image_file, const Bytes& label_file) {
    if (!image_file.empty()) write(name + "/train-images-idx3-ubyte", image_file);
    if (!label_file.empty()) write(name + "/train-labels-idx1-ubyte", label_file);
    return folder_ / name;
  };
  const auto good = folder("good", images, labels), alone = folder("alone", images, {});
  const auto more = folder("more", images, idx(8, {3}, {1, 2, 3})),
             eleven = folder("eleven", images, idx(8, {2}, {1, 10}));
  const auto swapped = folder("swapped", labels, images), cut = folder("cut", idx(8, {2, 1, 2}, {1}), labels);
  for (const auto& [name, f] : readers) {
    const auto fault = [name = name, f = f](const char* error, const char* text, const std::filesystem::path& root,
                                            double d = 1, SourceLocation l = SourceLocation::current()) {
      expect_errors({Misuse(
          error, name, text, [=] { f(root, d, l); }, l)});
    };
    fault("IoError", "/nowhere", "/nowhere");
    fault("IoError", "the labels of the train split", alone);
    fault("FormatError", "different numbers of samples", more);
    fault("FormatError", "label 10 of sample 1", eleven);
    fault("FormatError", "does not hold images", swapped);
    fault("FormatError", "is too short", cut);
    fault("ValueError", "got mean 0 and std 0", good, 0);
  }
  expect_errors({
      Misuse{"ValueError", "mnist", "'validation'", [] { mnist("validation"); }},
      Misuse{"ValueError", "fashion_mnist", "''", [] { fashion_mnist(""); }},
  });
}

}  // namespace
}  // namespace minnow
