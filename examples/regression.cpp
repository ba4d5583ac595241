// Regression of a CSV file's column on its others, with early stopping:  ./run regression --data houses.csv --target
// price
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <minnow/minnow.h>

#include "support/program.h"

using namespace minnow;

namespace {

/// Houses with made-up prices.
std::string write_houses() {
  const std::string path = (std::filesystem::temp_directory_path() / "minnow_houses.csv").string();
  std::ofstream file(path);
  file << "area,rooms,age,district,price\n";
  const char* const names[] = {"harbour", "hill", "\"market, old\"", "park"};
  const Tensor numbers = rand({1500, 4}), noise = randn({1500});
  for (std::int64_t i = 0; i < 1500; ++i) {
    const auto u = numbers[i].to_vector<double>();
    const double area = 30 + 170 * u[0], rooms = 1 + std::floor(area / 40 + 2 * u[1]), age = 100 * u[2];
    const auto district = static_cast<std::size_t>(4 * u[3]);
    const double price =
        area * (2 + static_cast<double>(district)) * (1 - 0.004 * age) + 15 * rooms + 10 * noise[i].item();
    file << area << ',' << rooms << ',' << age << ',' << names[district] << ',' << price << '\n';
  }
  return path;
}

/// Refuses a table whose columns would make the training NaN.
void check(const data::Table& table, const std::string& target) {
  const auto refuse = [](const std::string& what, const char* hint) {
    throw ValueError("--data: " + what + "\n" + hint);
  };
  if (table.is_category(target)) refuse("the target '" + target + "' is text", "give --target, a column of numbers");
  if (table.names().size() < 2) refuse("there is no column but the target", "give a table with more columns");
  if (table.rows() < 20) refuse(std::to_string(table.rows()) + " rows are too few", "give a table of 20 rows or more");
  (void)table.dataset(target);  // names the first missing value
  for (const std::string& name : table.names())
    if (!isfinite(table.column(name)).all().item<bool>())
      refuse("column '" + name + "' has infinite values", "leave these rows out");
}

/// All columns but the target as numbers, categories as one column for each.
Tensor features(const data::Table& table, const std::string& target) {
  std::vector<Tensor> columns;
  for (const std::string& name : table.names()) {
    const Tensor& column = table.column(name);
    if (name == target) continue;
    if (table.is_category(name))
      columns.push_back(one_hot(column, static_cast<std::int64_t>(table.vocabulary(name).size())).to(float32));
    else columns.push_back(column.to(float32).unsqueeze(1));
  }
  return cat(columns, 1);
}

/// Mean 0 and standard deviation 1 of the rows that are trained on.
Tensor normalized(const Tensor& x, std::int64_t train) {
  const auto [deviation, mean] = std_mean(x.narrow(0, 0, train), 0);
  return (x - mean) / (deviation + 1e-6);
}

}  // namespace

int main(int argc, char** argv) {
  std::string path, target = "price";
  std::int64_t epochs = 100, patience = 5;
  Program program("Regression of a CSV file's column on its others, with early stopping.");
  program.option("--data", path, "CSV file (default: houses with made-up prices)");
  program.option("--target", target, "the column to predict");
  program.option("--epochs", epochs, "at most");
  program.option("--patience", patience, "epochs without progress after which it stops");
  return program.run(argc, argv, [&](Device device) {
    const data::Table table = data::read_csv(path.empty() ? write_houses() : path);
    check(table, target);
    const std::int64_t rows = table.rows(), train = rows * 7 / 10, valid = rows * 15 / 100;
    const Tensor order = randperm(rows);
    const Tensor x = normalized(features(table, target).index_select(0, order), train);
    const Tensor y = normalized(table.column(target).to(float32).index_select(0, order).unsqueeze(1), train);
    const auto part = [&](std::int64_t from, std::int64_t count) {
      return std::pair(x.narrow(0, from, count).to(device), y.narrow(0, from, count).to(device));
    };
    std::printf("data   %lld rows, %lld columns, %lld features\n", static_cast<long long>(rows),
                static_cast<long long>(table.names().size()), static_cast<long long>(x.size(1)));

    nn::Sequential net(nn::Linear(x.size(1), 64), nn::ReLU(), nn::Linear(64, 64), nn::ReLU(), nn::Linear(64, 1));
    net.to(device);
    optim::AdamW adamw(net.parameters(), {.lr = 3e-3});
    optim::ReduceLROnPlateau schedule(adamw, {.factor = 0.3, .patience = 2});
    data::DataLoader loader(data::TensorDataset(x.narrow(0, 0, train), y.narrow(0, 0, train)),
                            {.batch_size = 32, .shuffle = true, .device = device});
    const auto mean_square = [&](std::int64_t from, std::int64_t count) {
      const NoGradGuard no_grad;
      const auto [inputs, wanted] = part(from, count);
      return nn::mse_loss(net(inputs), wanted).item();
    };
    nn::Sequential best = nn::clone(net);
    double lowest = kInfinity;
    for (std::int64_t epoch = 1, since = 0; epoch <= epochs && since < patience; ++epoch, ++since) {
      for (auto& [inputs, wanted] : loader) {
        const Tensor loss = nn::mse_loss(net(inputs), wanted);
        adamw.zero_grad();
        loss.backward();
        adamw.step();
      }
      const double loss = mean_square(train, valid);
      schedule.step(loss);
      if (loss < lowest) {
        lowest = loss;
        since = -1;
        best.load_state_dict(net.state_dict());
      }
      std::printf("epoch %lld: validation loss %.4f%s\n", static_cast<long long>(epoch), loss,
                  since < 0 ? ", best" : "");
    }
    net.load_state_dict(best.state_dict());
    const std::int64_t from = train + valid;
    const double explained = 100 * (1 - mean_square(from, rows - from) / y.narrow(0, from, rows - from).var().item());
    std::printf("%.1f %% of the variance of the rows that were kept back is explained\n", explained);
    return explained;
  });
}
