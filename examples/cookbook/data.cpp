// Recipes of docs/cookbook/data.md.
#include <filesystem>
#include <fstream>
#include <minnow/vision/vision.h>

#include "recipe.h"

using namespace minnow;

// # A CSV file
// Numbers and categories are told apart by their texts; [the tutorial](../tutorials/data.md) goes
// on to a trained model.
const Recipe csv_recipe("csv", [] {
  std::ofstream("cats.csv")
      << "weight,age,colour,purrs\n4.1,3,black,yes\n3.2,NA,white,no\n5.0,7,black,yes\n";
  // [
  const data::Table table = data::read_csv("cats.csv");
  const data::Table whole = table.drop_missing();
  data::DataLoader loader(whole.dataset("purrs", {.features = {"weight", "age"}}),
                          {.batch_size = 2});
  for (auto& [x, y] : loader) std::cout << x << y << '\n';  // float32 [2, 2], int64 [2]
  std::cout << whole.vocabulary("purrs")[0] << '\n';        // class 0
  // ]
  expect(table.missing("age") == 1 && whole.rows() == 2 && whole.is_category("purrs"));
});

// # A folder of images
// `animals/cat/1.jpg`: a folder for each class. Files are read when a sample is asked for, by the
// loader's workers. With `#include <minnow/vision/vision.h>` and `minnow::vision`.
const Recipe folder_recipe("image folder", [] {
  for (const char* name : {"animals/cat", "animals/dog"}) {
    std::filesystem::create_directories(name);
    for (int i = 0; i < 4; ++i)
      vision::write_png(randint(0, 256, {3, 40 + i, 50}, {.dtype = uint8}),
                        std::string(name) + "/" + std::to_string(i) + ".png");
  }
  // [
  const vision::ImageFolder animals = vision::image_folder("animals");
  const auto set = data::transform(
      animals, vision::RandomResizedCrop{.height = 32, .width = 32}, data::RandomHorizontalFlip{},
      data::ToFloat{}, vision::NormalizeChannels{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}});
  data::DataLoader loader(set, {.batch_size = 4, .shuffle = true, .num_workers = 2});
  for (auto& [images, labels] : loader) std::cout << images.shape() << ' ' << labels << '\n';
  std::cout << animals.classes()[0] << '\n';  // class 0
  // ]
  expect(animals.classes()[1] == "dog" && animals.size() == 8 && loader.stats().batches == 2);
});

// # Read, resize and write an image
// With minnow/vision/vision.h and minnow::vision: tensors of [channels, height, width].
const Recipe image_recipe("one image", [] {
  vision::write_png(randint(0, 256, {3, 40, 50}, {.dtype = uint8}), "in.png");
  // [
  const Tensor bytes =
      vision::read_image("in.png", {.mode = vision::ImageMode::rgb});  // uint8 [3, H, W]
  const Tensor x = bytes.to(float32) / 255;
  vision::save_image(vision::resize(x, 20, 25), "out.png");
  // ]
  expect(vision::read_image("out.png").shape() == Shape{3, 20, 25});
});

// # Keep some of the data back
// Random parts, which depend on the seed alone.
const Recipe split_recipe("split", [] {
  const Points points(100);
  const data::TensorDataset set(points.x, points.y);
  // [
  const auto parts = data::random_split(set, {80, 20}, 1);
  data::DataLoader train(parts[0], {.batch_size = 16, .shuffle = true}),
      test(parts[1], {.batch_size = 20});
  // ]
  expect(parts[0].size() == 80 && train.size() == 5 && test.size() == 1);
});

// # Rare classes
// Draw samples by weights, so that each class comes as often. [Class
// weights](training.md#class-weights) in the loss are the other way.
const Recipe rare_recipe("imbalanced sampling", [] {
  const Tensor labels = (arange(1000) % 20 == 0).to(int64),
               x = rand({1000, 2});  // 50 of 1000 are class 1
  // [
  const Tensor counts = bincount(labels).to(float64);
  const std::vector<double> weights = (1 / counts).index_select(0, labels).to_vector<double>();
  data::DataLoader loader(data::TensorDataset(x, labels),
                          data::WeightedRandomSampler(weights, 1000), {.batch_size = 50});
  // ]
  double ones_seen = 0;
  for (auto& [features, label] : loader) ones_seen += label.sum().item();
  expect(ones_seen > 400 && ones_seen < 600);
});

// # Text, letter by letter
// Letters become numbers, and a sample is a window and the same window one letter later.
// [
struct Letters {
  Tensor codes;  // int64 [length of the text]
  std::int64_t length = 32;

  std::int64_t size() const { return codes.size(0) - length; }
  std::pair<Tensor, Tensor> get(std::int64_t i) const {
    return {codes.narrow(0, i, length), codes.narrow(0, i + 1, length)};
  }
};
// ]
const Recipe letters_recipe("text", [] {
  const std::string text(100, 'a');
  // [
  std::vector<std::int64_t> codes(text.begin(),
                                  text.end());  // ASCII; minnow::text has the tokens of GPT-2
  data::DataLoader loader(Letters{tensor(codes)}, {.batch_size = 8, .shuffle = true});
  // ]
  for (auto& [input, target] : loader) {
    expect(input.shape() == Shape{8, 32} && target[0][0].item() == 'a');
    break;
  }
});

// # Samples with names
// A struct of tensors and numbers; its `Batch` says how the stacked fields are called.
// [
struct Scene {
  Tensor left, right;
  std::int64_t distance;
  struct Batch {
    Tensor left, right, distance;
  };
};
struct Scenes {
  std::int64_t size() const { return 10; }
  Scene get(std::int64_t i) const { return {rand({8}), rand({8}), i}; }
};
// ]
const Recipe names_recipe("samples with names", [] {
  // [
  data::DataLoader loader(Scenes{}, {.batch_size = 5});
  for (auto& batch : loader) std::cout << batch.left.shape() << batch.distance << '\n';
  // ]
  expect(loader.stats().batches == 2);
});

// # Samples of different lengths
// Batches are padded to the longest of them; a BucketSampler puts similar lengths together.
// [
struct Sentences {
  std::vector<std::int64_t> lengths = {3, 9, 4, 8, 3, 9};
  std::int64_t size() const { return static_cast<std::int64_t>(lengths.size()); }
  Tensor get(std::int64_t i) const {
    return ones({lengths[static_cast<std::size_t>(i)]}, {.dtype = int64});
  }
};
// ]
const Recipe padded_recipe("different lengths", [] {
  std::vector<Shape> shapes;
  // [
  const Sentences sentences;
  data::DataLoader loader(sentences, data::BucketSampler(sentences.lengths, 2),
                          {.batch_size = 2, .collate = data::pad_collate({.value = 0})});
  for (auto& tokens : loader) shapes.push_back(tokens.shape());  // [2, longest of the two]
  // ]
  std::int64_t elements = 0;
  for (const Shape& s : shapes) elements += s[0] * s[1];
  expect(shapes.size() == 3 && elements <= 40);
});

// # Augment images
// A function gets the sample's image, and random numbers that depend on seed, epoch and sample
// alone.
const Recipe augment_recipe("augment", [] {
  const data::SyntheticDigits digits(100);
  // [
  const auto set = data::transform(digits, data::RandomShift{.pixels = 2},
                                   [](Tensor image, data::Random& random) {
                                     return image + 0.1 * random.normal();  // brighter or darker
                                   });
  data::DataLoader loader(set, {.batch_size = 50, .shuffle = true});
  // ]
  for (auto& [images, labels] : loader) expect(images.shape() == Shape{50, 1, 28, 28});
});

// # Mix images (mixup)
// With minnow/vision/vision.h and minnow::vision. On the device, batch by batch; the labels become
// probabilities, which cross_entropy takes.
const Recipe mix_recipe("mixup", [] {
  const Tensor images = rand({4, 1, 8, 8}), labels = tensor({0, 1, 2, 3}).to(int64);
  // [
  data::Random random(1);
  const auto mixed = vision::mixup(images, labels, 10, random, 0.2);
  // nn::cross_entropy(net(mixed.images), mixed.labels)
  // ]
  expect(mixed.labels.shape() == Shape{4, 10} && allclose(mixed.labels.sum(1), ones({4})));
});

// # Files of NumPy
// One array in .npy, several by name in .npz.
const Recipe numpy_recipe("numpy", [] {
  // [
  save_npy(rand({10, 3}), "x.npy");
  save_npz({{"x", rand({10, 3})}, {"y", arange(10)}}, "set.npz");
  const Tensor x = load_npy("x.npy");
  const StateDict arrays = load_npz("set.npz");
  const data::TensorDataset set(arrays.at("x"), arrays.at("y"));
  // ]
  expect(x.shape() == Shape{10, 3} && set.size() == 10);
});

// # Files larger than memory
// Rows of an .npy or safetensors file are read when they are asked for.
const Recipe large_recipe("larger than memory", [] {
  save_npy(rand({100, 8}), "features.npy"), save_npy(arange(100), "labels.npy");
  // [
  const data::FileDataset set(data::FileTensor::npy("features.npy"),
                              data::FileTensor::npy("labels.npy"));
  data::DataLoader loader(set, {.batch_size = 20, .shuffle = true, .num_workers = 2});
  // ]
  for (auto& [x, y] : loader) expect(x.shape() == Shape{20, 8} && y.dtype() == int64);
});

// # A stream without an end
// Lines of a log, records of a socket: `next()` gives samples until there are none.
// [
struct Numbers {
  std::ifstream file{"numbers.txt"};
  std::optional<Tensor> next() {
    double number = 0;
    if (!(file >> number)) return std::nullopt;
    return tensor({number});
  }
};
// ]
const Recipe stream_recipe("stream", [] {
  std::ofstream("numbers.txt") << "1 2 3 4 5";
  double total = 0;
  // [
  data::StreamLoader loader([](std::int64_t) { return Numbers{}; }, {.batch_size = 2});
  for (auto& x : loader) total += x.sum().item();
  // ]
  expect(total == 15);
});

// # Memory that is there already
// No copy: the tensor is a view of it, as long as you keep it.
const Recipe blob_recipe("from_blob", [] {
  // [
  std::vector<float> samples(12, 1.0f);
  const Tensor x = from_blob(samples.data(), {3, 4});
  // ]
  samples[0] = 5;
  expect(x[0][0].item() == 5);
});

// # The mean and deviation of images
// For `NormalizeChannels`, over a whole data set.
const Recipe moments_recipe("mean and deviation", [] {
  data::DataLoader loader(data::SyntheticDigits(200), {.batch_size = 50});
  // [
  Tensor sum = zeros({1}), squares = zeros({1});
  double pixels = 0;
  for (auto& [images, labels] : loader) {  // [N, C, H, W]
    sum += images.sum({0, 2, 3}), squares += images.square().sum({0, 2, 3});
    pixels += static_cast<double>(images.numel() / images.size(1));
  }
  const Tensor mean = sum / pixels, deviation = sqrt(squares / pixels - mean.square());
  // ]
  expect(deviation[0].item() > 0.1);
});
