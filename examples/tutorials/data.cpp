// The fifth tutorial: docs/tutorials/data.md.
#include <fstream>
#include <minnow/minnow.h>

#include "section.h"

using namespace minnow;

namespace {

/// Flats with made-up rents.
void write_flats(const char* path) {
  std::ofstream file(path);
  file << "area,rooms,year,district,rent\n";
  const char* const names[] = {"harbour", "hill", "park"};
  const Tensor u = rand({1200, 4}), noise = randn({1200});
  for (std::int64_t i = 0; i < 1200; ++i) {
    const auto r = u[i].to_vector<double>();
    const double area = std::round(25 + 100 * r[0]), rooms = 1 + std::floor(area / 35 + r[1]);
    const double year = 1920 + std::floor(100 * r[2]);
    const auto district = static_cast<std::size_t>(3 * r[3]);
    file << area << ',' << rooms << ','
         << (i % 50 == 7 ? "NA" : std::to_string(static_cast<int>(year))) << ',' << names[district]
         << ','
         << std::round(100 + area * (8 + 2 * static_cast<double>(district)) + (year - 1920) +
                       15 * noise[i].item())
         << '\n';
  }
}

}  // namespace

// [dataset]
struct Walks {  // class 1 drifts upwards, class 0 does not
  std::int64_t size() const { return 2000; }

  std::pair<Tensor, std::int64_t> get(std::int64_t i, data::Random& random) const {
    Tensor steps = zeros({50});
    for (float& step : steps.span<float>()) step = static_cast<float>(random.uniform() - 0.5);
    const std::int64_t label = i % 2;
    return {steps.cumsum(0) + 0.1 * static_cast<double>(label) * arange(50).to(float32), label};
  }
};
// [end]

int main() {
  manual_seed(1);
  write_flats("flats.csv");

  section("read");
  // [read]
  const data::Table table = data::read_csv("flats.csv");
  std::cout << table << '\n';
  std::cout << "missing years: " << table.missing("year") << '\n';
  // [end]

  section("features");
  // [features]
  const data::Table whole = table.drop_missing();  // or fill them: TableTensorOptions::fill
  const Tensor numbers = whole.tensor({"area", "rooms", "year"});  // float32 [rows, 3]
  const Tensor district =
      one_hot(whole.column("district"), 3);  // a category: a column of 0 and 1 for each text
  const Tensor x = cat({numbers, district.to(float32)}, 1);  // [rows, 6]
  const Tensor y = whole.tensor({"rent"});                   // [rows, 1]
  std::cout << x.shape() << ' ' << y.shape() << '\n';
  // [end]

  section("split");
  // [split]
  const std::int64_t rows = x.size(0), count = rows * 8 / 10;
  const Tensor order = randperm(rows);
  const Tensor for_training = order(slice(0, count)), for_test = order(slice(count));
  const Tensor x_mean = x(for_training).mean(0),
               x_std = x(for_training).std(0);  // of the training rows alone
  const Tensor y_mean = y(for_training).mean(0), y_std = y(for_training).std(0);
  const Tensor nx = (x - x_mean) / (x_std + 1e-6), ny = (y - y_mean) / y_std;
  std::cout << for_training.size(0) << " rows to train on, " << for_test.size(0) << " to test\n";
  // [end]

  section("train");
  // [train]
  data::DataLoader train(data::TensorDataset(nx(for_training), ny(for_training)),
                         {.batch_size = 32, .shuffle = true});
  nn::Sequential net(nn::Linear(6, 32), nn::ReLU(), nn::Linear(32, 32), nn::ReLU(),
                     nn::Linear(32, 1));
  optim::AdamW adam(net.parameters(), {.lr = 3e-3});

  for (int epoch = 1; epoch <= 40; ++epoch) {
    for (auto& [features, rent] : train) {
      const Tensor loss = nn::mse_loss(net(features), rent);
      adam.zero_grad();
      loss.backward();
      adam.step();
    }
    if (epoch % 10 != 0) continue;
    const NoGradGuard no_grad;
    const Tensor error =
        (net(nx(for_test)) - ny(for_test)) * y_std;  // in the unit of the rent again
    std::printf("epoch %d: the rent is wrong by %.1f on average\n", epoch,
                error.abs().mean().item());
  }
  // [end]

  section("predict");
  // [predict]
  const auto rent_of = [&](double area, double rooms, double year, double hill) {
    const NoGradGuard no_grad;
    const Tensor flat =
        tensor({{area, rooms, year, 1 - hill, hill, 0.0}}).to(float32);  // harbour or hill
    return (net((flat - x_mean) / (x_std + 1e-6)) * y_std + y_mean).item();
  };
  std::printf("80 m2 by the harbour: %.0f, on the hill: %.0f\n", rent_of(80, 3, 1980, 0),
              rent_of(80, 3, 1980, 1));
  // [end]

  section("keep");
  // [keep]
  StateDict file = net.state_dict();                     // the weights ...
  file.set("x_mean", x_mean), file.set("x_std", x_std);  // ... with what the features need
  file.set("y_mean", y_mean), file.set("y_std", y_std);
  save(file, "flats.safetensors");
  std::cout << load("flats.safetensors").size() << " tensors\n";
  // [end]

  section("load");
  // [load]
  nn::Sequential same(nn::Linear(6, 32), nn::ReLU(), nn::Linear(32, 32), nn::ReLU(),
                      nn::Linear(32, 1));
  StateDict saved = load("flats.safetensors");
  const Tensor mean = saved.at("x_mean"), deviation = saved.at("x_std");
  for (const char* name : {"x_mean", "x_std", "y_mean", "y_std"}) saved.erase(name);
  same.load_state_dict(saved);
  std::printf("the same answers: %s\n",
              equal(same((x - mean) / (deviation + 1e-6)), net(nx)) ? "yes" : "no");
  // [end]

  section("classes");
  // [classes]
  const Tensor label = whole.column("district");           // int64 [rows]: 0, 1 or 2
  const Tensor seen = cat({nx(all, slice(0, 3)), ny}, 1);  // area, rooms, year, rent
  data::DataLoader labelled(data::TensorDataset(seen(for_training), label(for_training)),
                            {.batch_size = 32, .shuffle = true});
  nn::Sequential guess(nn::Linear(4, 32), nn::ReLU(), nn::Linear(32, 3));  // 3 districts
  optim::AdamW adam1(guess.parameters(), {.lr = 1e-2});
  for (int epoch = 0; epoch < 20; ++epoch)
    for (auto& [features, district_of] : labelled) {
      const Tensor loss = nn::cross_entropy(guess(features), district_of);
      adam1.zero_grad();
      loss.backward();
      adam1.step();
    }
  metrics::Accuracy right;
  right.update(guess(seen(for_test)), label(for_test));
  std::printf("%.0f %% of the districts are guessed from the rent\n", 100 * right.value());
  // [end]

  section("texts");
  // [texts]
  Metadata texts;
  for (std::size_t i = 0; i < whole.vocabulary("district").size(); ++i)
    texts["class " + std::to_string(i)] = whole.vocabulary("district")[i];
  save(guess.state_dict(), "districts.safetensors", texts);

  nn::Sequential again(nn::Linear(4, 32), nn::ReLU(), nn::Linear(32, 3));
  again.load_state_dict(load("districts.safetensors"));
  const Metadata read = load_metadata("districts.safetensors");
  const auto best = argmax(again(seen(for_test)), 1)[0].item<std::int64_t>();
  std::cout << "the first flat of the test: " << read.at("class " + std::to_string(best)) << '\n';
  // [end]

  section("own");
  // [own]
  data::DataLoader walks(Walks{}, {.batch_size = 100, .shuffle = true, .num_workers = 2});
  nn::Sequential judge(nn::Linear(50, 16), nn::ReLU(), nn::Linear(16, 2));
  optim::Adam adam2(judge.parameters(), {.lr = 1e-2});
  metrics::Accuracy accuracy;
  for (int epoch = 0; epoch < 5; ++epoch) {
    accuracy.reset();
    for (auto& [walk, drifts] : walks) {  // float32 [100, 50] and int64 [100]
      const Tensor scores = judge(walk);
      const Tensor loss = nn::cross_entropy(scores, drifts);
      adam2.zero_grad();
      loss.backward();
      adam2.step();
      accuracy.update(scores, drifts);
    }
  }
  std::printf("%.0f %% of the walks are told apart\n", 100 * accuracy.value());
  // [end]
}
