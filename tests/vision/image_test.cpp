#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <minnow/data/loader.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/vision/image.h>
#include "data/files.h"
#include "support/golden.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::Book;
using test::Bytes;
using test::error_of;
using test::has;
using vision::ImageMode;
using vision::read_image;

class Images : public test::TempFolder {
 protected:
  Bytes bytes(const Tensor& t) const { return t.to_vector<std::uint8_t>(); }
  std::string refused(const std::string& name, const Bytes& content,
                      const vision::ReadImageOptions& options = {}) const {
    const auto path = write(name, content);
    const std::string text = error_of<FormatError>([&] { read_image(path, options); });
    EXPECT_TRUE(has(text, "read_image: '" + path + "'")) << text;
    return text;
  }
  Book book_{"images", {}};
};

const char* const kFiles[] = {"png_rgb",   "png_grey",         "png_rgba",  "png_grey_alpha", "png_palette",
                              "png_bits",  "png_transparent",  "png_deep",  "png_interlaced", "jpeg_rgb",
                              "jpeg_fine", "jpeg_progressive", "jpeg_grey", "jpeg_cmyk"};

TEST_F(Images, HavePillowsPixels) {
  for (const std::string name : kFiles)
    for (const auto& [key, mode] : {std::pair{"unchanged", ImageMode::unchanged}, {"rgb", ImageMode::rgb}}) {
      const Tensor got = read_image(write(name, bytes(book_[name + "/file"])), {.mode = mode});
      const bool exact = name.starts_with("png");  // decoders of JPEG may round differently
      test::expect_close(got.to(float32), book_[name + "/" + key].to(float32), name + " " + key,
                         {0, exact ? 0.0 : 2.0});
      EXPECT_EQ(got.dtype(), uint8);
    }
  const auto path = write("a", bytes(book_["png_rgb/file"]));
  test::expect_close(read_image(path, {.mode = ImageMode::grey}), book_["png_rgb/grey"], "grey");
  EXPECT_EQ(read_image(write("b", bytes(book_["jpeg_cmyk/file"])), {.mode = ImageMode::grey}).shape(),
            Shape({1, 13, 17}));
  EXPECT_EQ(read_image(write("c", bytes(book_["png_grey_alpha/file"])), {.mode = ImageMode::grey}).shape(),
            Shape({1, 13, 17}));
}

TEST_F(Images, ComeBackAsTheyWereWritten) {
  const std::string path = folder_ / "x.png";
  for (const Shape& shape : {Shape{1, 1, 1}, {3, 5, 7}, {2, 4, 9}, {4, 33, 2}, {3, 200, 300}}) {
    const Tensor x = (arange(shape.numel()) * 37).remainder(251).to(uint8).reshape(shape);
    vision::write_png(x, path);
    EXPECT_EQ(bytes(read_image(path)), bytes(x)) << shape.str();
  }
  const Tensor plane = arange(12).to(uint8).reshape({4, 3});
  vision::write_png(plane.t(), path);
  EXPECT_EQ(bytes(read_image(path)), bytes(plane.t()));
  const Tensor ramp = arange(0, 192, 0.25).to(uint8).reshape({3, 16, 16});
  vision::write_jpeg(ramp, folder_ / "x.jpg", {.quality = 100});
  test::expect_close(read_image(folder_ / "x.jpg").to(float32), ramp.to(float32), "jpeg", {0, 12});
  vision::write_jpeg(plane, folder_ / "g.jpg");
  EXPECT_EQ(read_image(folder_ / "g.jpg").shape(), Shape({1, 4, 3}));
}

TEST_F(Images, SaveImageRoundsFloatsAndMakesGrids) {
  vision::save_image(tensor({{-1.0, 0.0, 0.5}, {1.0, 2.0, std::nan("")}}), folder_ / "f.png");
  EXPECT_EQ(bytes(read_image(folder_ / "f.png"))[2], 128);
  EXPECT_EQ(bytes(read_image(folder_ / "f.png", {.mode = ImageMode::grey})), (Bytes{0, 0, 128, 255, 255, 0}));
  vision::save_image(zeros({5, 3, 4, 4}), folder_ / "g.JPEG");
  EXPECT_EQ(read_image(folder_ / "g.JPEG").shape(), Shape({3, 8, 32}));
}

TEST_F(Images, GridsAreTorchvisions) {
  const Tensor x = book_["grid/in"];
  const auto same = [&](const Tensor& got, const char* name) {
    test::expect_close(got, book_[std::string("grid/") + name], name, {0, 1e-6});
  };
  same(vision::make_grid(x, {.columns = 3}), "plain");
  same(vision::make_grid(x, {.columns = 2, .padding = 1, .pad_value = 0.5, .normalize = true}), "normalized");
  same(vision::make_grid(x, {.normalize = true, .scale_each = true}), "each");
  same(vision::make_grid(x, {.normalize = true, .value_range = std::pair{-0.5, 0.5}}), "range");
  same(vision::make_grid(x(0)), "one");
}

TEST_F(Images, RefusesDamagedFiles) {
  for (const std::string name : kFiles) {
    const Bytes good = bytes(book_[name + "/file"]);
    // Every truncation, and many flipped bytes: an error or an image, never a crash.
    for (std::size_t cut = 0; cut < good.size(); cut += 1 + good.size() / 30)
      refused(name, Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(cut)));
    for (std::size_t at = 0; at < good.size(); at += 1 + good.size() / 60)
      for (const int flip : {1, 0x80, 0xff}) {
        Bytes bad = good;
        bad[at] = static_cast<std::uint8_t>(bad[at] ^ flip);
        try {
          read_image(write("bad", bad));
        } catch (const FormatError&) {}
      }
  }
  const Bytes png = bytes(book_["png_rgb/file"]), jpeg = bytes(book_["jpeg_rgb/file"]);
  EXPECT_TRUE(has(refused("a", {}), "an empty file"));
  const std::string page = "<!DOCTYPE html><html></html>";
  EXPECT_TRUE(has(refused("a.png", Bytes(page.begin(), page.end())), "web page"));
  EXPECT_TRUE(has(refused("a", Bytes(png.begin(), png.end() - 12)), "truncated"));  // without IEND
  EXPECT_TRUE(has(refused("a", png, {.max_pixels = 220}), "17 x 13 pixels"));
  EXPECT_TRUE(has(refused("a", jpeg, {.max_pixels = 220}), "17 x 13 pixels"));
  Bytes bad = png;
  bad[png.size() / 2] ^= 4;
  EXPECT_TRUE(has(refused("a", bad), "a damaged PNG file"));  // a checksum
  EXPECT_TRUE(has(refused("a", Bytes(jpeg.begin(), jpeg.end() - 40)), "a damaged JPEG file: Premature end"));
  // A header that claims 16384 x 8192 pixels, with a valid checksum.
  bad = png;
  const std::uint8_t sides[] = {0, 0, 64, 0, 0, 0, 32, 0};
  std::copy(std::begin(sides), std::end(sides), bad.begin() + 16);
  const auto sum = crc32(0, bad.data() + 12, 17);
  for (std::size_t i = 0; i < 4; ++i) bad[29 + i] = static_cast<std::uint8_t>(sum >> (24 - 8 * i));
  EXPECT_TRUE(has(refused("a", bad), "claims 16384 x 8192 pixels"));
  EXPECT_TRUE(has(error_of<IoError>([&] { read_image(folder_ / "none.png"); }), "none.png"));
}

TEST_F(Images, AFolderIsADataset) {
  const Bytes rgb = bytes(book_["png_rgb/file"]), grey = bytes(book_["png_grey/file"]);
  write("d/cat/b.png", rgb), write("d/cat/a.PNG", grey), write("d/cat/x/0.png", rgb), write("d/cat/notes.txt", rgb);
  write("d/Bird/1.jpg", bytes(book_["jpeg_rgb/file"])), write("d/readme.png", rgb);
  const auto set = vision::image_folder(folder_ / "d");
  EXPECT_EQ(set.classes(), (std::vector<std::string>{"Bird", "cat"}));
  EXPECT_EQ(set.labels(), (std::vector<std::int64_t>{0, 1, 1, 1}));
  EXPECT_EQ(set.get(3).labels.item<std::int64_t>(), 1);
  const auto path = [&](std::size_t i) { return std::filesystem::path(set.paths()[i]).generic_string(); };
  EXPECT_TRUE(path(1).ends_with("cat/a.PNG") && path(3).ends_with("x/0.png"));
  int samples = 0;
  for (auto& [images, labels] : data::DataLoader(set, {.batch_size = 2, .num_workers = 2})) {
    EXPECT_EQ(images.shape(), Shape({2, 3, 13, 17}));
    EXPECT_EQ(images.dtype(), uint8);
    EXPECT_EQ(labels.dtype(), int64);
    samples += static_cast<int>(labels.numel());
  }
  EXPECT_EQ(samples, 4);
  write("d/empty/x.txt", rgb);
  EXPECT_TRUE(has(error_of<ValueError>([&] { vision::image_folder(folder_ / "d"); }), "no image in"));
  EXPECT_TRUE(has(error_of<ValueError>([&] { vision::image_folder(folder_ / "d/empty"); }), "no folder in"));
  EXPECT_TRUE(has(error_of<IoError>([&] { vision::image_folder(folder_ / "gone"); }), "gone"));
  write("d/empty/x.png", Bytes{1, 2, 3, 4});
  const auto bad = vision::image_folder(folder_ / "d");
  EXPECT_TRUE(has(error_of<FormatError>([&] { bad.get(4); }), "x.png"));
}

}  // namespace
}  // namespace minnow
