#include <algorithm>
#include <cmath>
#include <sstream>
#include <minnow/data/csv.h>
#include <minnow/data/loader.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/threads.h>
#include "data/files.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using data::CsvOptions;
using data::read_csv;
using data::Table;
using test::Bytes;
using test::error_of;
using test::has;

class Csv : public test::TempFolder {
 protected:
  std::string file(const std::string& text, const std::string& name = "t.csv") const {
    return write(name, Bytes(text.begin(), text.end()));
  }
  Table table(const std::string& text, const CsvOptions& options = {}) const { return read_csv(file(text), options); }
  /// The error's first line after the path.
  std::string refused(const std::string& text, const CsvOptions& options = {}) const {
    const std::string path = file(text);
    const std::string what = error_of<FormatError>([&] { read_csv(path, options); });
    EXPECT_TRUE(has(what, "read_csv: '" + path + "'")) << what;
    return what;
  }
};

using Reals = std::vector<double>;
using Texts = std::vector<std::string>;

Reals reals(const Tensor& t) { return t.to_vector<double>(); }

TEST_F(Csv, ReadsNumbersAndCategories) {
  const Table t = table("id,price,kind\n1,2.5,b\n2,-3e2,a\n3,.5,b\n");
  EXPECT_EQ(t.rows(), 3);
  EXPECT_EQ(t.names(), (Texts{"id", "price", "kind"}));
  EXPECT_EQ(t.column("id").dtype(), int64);
  EXPECT_EQ(t.column("id").to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(t.column("price").dtype(), float64);
  EXPECT_EQ(reals(t.column("price")), (Reals{2.5, -300, 0.5}));
  EXPECT_TRUE(t.is_category("kind"));
  EXPECT_EQ(t.vocabulary("kind"), (Texts{"a", "b"}));
  EXPECT_EQ(t.column("kind").to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0, 1}));
  EXPECT_EQ(reals(t.tensor({"kind", "price"})), (Reals{1, 2.5, 0, -300, 1, 0.5}));
}

TEST_F(Csv, QuotedFieldsHoldSeparatorsQuotesAndLineEnds) {
  const Table t = table("\"a,b\",\"say \"\"hi\"\"\"\r\n\"1\",\"x,\r\n\"\"y\"\"\"\r\n\"2\",\"\"\r\n3,\"NA\"\r\n");
  EXPECT_EQ(t.names(), (Texts{"a,b", "say \"hi\""}));
  EXPECT_EQ(reals(t.column("a,b")), (Reals{1, 2, 3}));
  EXPECT_EQ(t.vocabulary("say \"hi\""), (Texts{"", "NA", "x,\r\n\"y\""}));  // quoted: not missing
  EXPECT_EQ(t.missing("say \"hi\""), 0);
}

TEST_F(Csv, MissingValuesMarksAndLineEnds) {
  const Table t = table("\xef\xbb\xbf\n\nx,k\r\n 1 ,a\r\n\r\nNA,\r\n3,NULL");
  EXPECT_EQ(t.names(), (Texts{"x", "k"}));
  EXPECT_EQ(t.rows(), 3);
  EXPECT_TRUE(std::isnan(reals(t.column("x"))[1]));
  EXPECT_EQ(reals(t.column("x"))[2], 3);
  EXPECT_EQ(t.missing("x"), 1);
  EXPECT_EQ(t.column("k").to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, -1, -1}));
  EXPECT_EQ(reals(t.tensor({"x", "k"}, {.fill = -7})), (Reals{1, 0, -7, -7, 3, -7}));
  EXPECT_EQ(table("a\n?\n4\n", {.missing = {"?"}}).missing("a"), 1);
  const Table numbers = table("x,y\n1,NaN\n-999,2\r\nnan,-999\r\n\"NaN\",-9990\n", {.missing = {"-999", "NaN"}});
  EXPECT_EQ(numbers.missing("x"), 3);
  EXPECT_EQ(numbers.missing("y"), 2);
  EXPECT_EQ(reals(numbers.drop_missing({"y"}).column("y")), (Reals{2, -9990}));
  EXPECT_TRUE(has(error_of<ValueError>([&] { (void)numbers.dataset("y", {.fill = 0}); }), "missing"));
  EXPECT_EQ(table("a,b\n").rows(), 0);
  EXPECT_EQ(reals(table("a\nNA\n\n").column("a")).size(), 1U);
}

TEST_F(Csv, Options) {
  const Table plain = table("1;2\n3;4\n", {.separator = ';', .header = false});
  EXPECT_EQ(plain.names(), (Texts{"0", "1"}));
  EXPECT_EQ(reals(plain.column("1")), (Reals{2, 4}));
  const Table named = table("a\tb\n1\t2\n", {.separator = '\t', .names = {"p", "q"}, .categories = {"q"}});
  EXPECT_EQ(named.vocabulary("q"), (Texts{"2"}));
  EXPECT_EQ(named.column("p").item<int>(), 1);
  EXPECT_EQ(table(",a\n0,5\n").names(), (Texts{"0", "a"}));  // as pandas writes its index
  const Table single = table("a,b\n'x,y',1\n", {.quote = '\''});
  EXPECT_EQ(single.vocabulary("a"), (Texts{"x,y"}));
}

TEST_F(Csv, NumbersAreThoseOfTheStandardLibrary) {
  const Texts texts = {"0",
                       "-0",
                       "+7",
                       "1.",
                       "-1.5E-3",
                       "0.1",
                       "123456789012345678",
                       "9007199254740993.0",
                       "0.30000000000000004",
                       "1e22",
                       "1e23",
                       "1.7976931348623157e308",
                       "2e308",
                       "-3e400",
                       "1e-330",
                       "4.9e-324",
                       "inf",
                       "-inf",
                       "1234567890123456789012",
                       "0.00000000000000000000000012345",
                       "2.2250738585072014e-308",
                       "1e-22",
                       "89255e-22",
                       "-14153707420504142e-16"};
  std::string text = "x\n0.5\n";
  for (const auto& t : texts) text += t + "\n";
  const Reals got = reals(table(text).column("x"));
  ASSERT_EQ(got.size(), texts.size() + 1);
  for (std::size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(got[i + 1], std::strtod(texts[i].c_str(), nullptr)) << texts[i];
  // Random mantissas of 16 to 19 digits, whose products are rounded twice.
  data::Random random(3);
  text = "x\n0.5\n";
  std::vector<std::string> many;
  for (int i = 0; i < 20000; ++i) {
    std::string digits = std::to_string(1000000000000000 + random.below(9000000000000000));
    for (std::int64_t k = random.below(4); k > 0; --k) digits += std::to_string(random.below(10));
    digits.insert(digits.size() - static_cast<std::size_t>(random.below(17)), ".");
    many.push_back(digits + (i % 3 == 0 ? "e" + std::to_string(random.below(20) - 10) : ""));
    text += many.back() + "\n";
  }
  const Reals scaled = reals(table(text).column("x"));
  int wrong = 0;
  for (std::size_t i = 0; i < many.size(); ++i) wrong += scaled[i + 1] == std::strtod(many[i].c_str(), nullptr) ? 0 : 1;
  EXPECT_EQ(wrong, 0);
  // Integers keep all their digits.
  EXPECT_EQ(table("x\n9223372036854775807\n-9223372036854775808\n").column("x").to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{INT64_MAX, INT64_MIN}));
  for (const char* other : {"-", "+", ".", "e5", "1e", "1e+", "0x10", "1,5", "1 2", "--1", "+-1", "1.2.3", "nano",
                            "nan(5)", "nan()", "-nan(abc)"})
    EXPECT_TRUE(table("x\n\"" + std::string(other) + "\"\n").is_category("x")) << other;
}

TEST_F(Csv, OneLineMakesADataset) {
  const Table t = table("a,b,y,kind\n1,2,0.5,no\n3,4,1.5,yes\n");
  const auto set = t.dataset("y", {.features = {"a", "b"}});
  EXPECT_EQ(set.size(), 2);
  int batches = 0;
  for (auto& [x, y] : data::DataLoader(set, {.batch_size = 2})) {
    EXPECT_EQ(reals(x), (Reals{1, 2, 3, 4}));
    EXPECT_EQ(y.dtype(), float32);
    EXPECT_EQ(y.shape(), Shape({2}));
    ++batches;
  }
  EXPECT_EQ(batches, 1);
  EXPECT_EQ(t.dataset("kind").get(1)[1].dtype(), int64);
  EXPECT_EQ(t.dataset("kind").get(1)[0].shape(), Shape({3}));
  EXPECT_EQ(t.dataset("a", {.target_dtype = float32}).get(1)[1].dtype(), float32);
}

TEST_F(Csv, TheNumberOfThreadsChangesNothing) {
  std::string text = "number,text,mixed\n";
  for (int i = 0; i < 60000; ++i)
    text += std::to_string(i * 7) + (i > 40000 ? ".25" : "") + ",\"" +
            std::string(static_cast<std::size_t>(i % 9), '\n') + ",\"\"" + std::to_string(i % 31) + "\"," +
            (i == 59000 ? "late" : std::to_string(i)) + "\n";
  const std::string path = file(text), bad = file(text + "1,2\n", "bad.csv");
  const int before = num_threads();
  set_num_threads(1);
  const Table one = read_csv(path);
  const std::string message = error_of<FormatError>([&] { read_csv(bad); });
  set_num_threads(5);
  const Table five = read_csv(path);
  EXPECT_EQ(error_of<FormatError>([&] { read_csv(bad); }).substr(0, 60), message.substr(0, 60));
  set_num_threads(before);
  ASSERT_EQ(one.rows(), 60000);
  ASSERT_EQ(five.rows(), 60000);
  EXPECT_EQ(one.column("number").dtype(), float64);
  EXPECT_TRUE(one.is_category("mixed"));
  EXPECT_EQ(one.vocabulary("mixed").size(), 60000U);
  for (const char* name : {"number", "text", "mixed"})
    EXPECT_EQ(reals(one.column(name)), reals(five.column(name))) << name;
  EXPECT_EQ(one.vocabulary("text"), five.vocabulary("text"));
  EXPECT_EQ(reals(one.column("number"))[59999], 59999 * 7 + 0.25);
}

TEST_F(Csv, ReadsGzip) {
  const std::string text = "a\n1\n2\n";
  const auto path = write("t.csv.gz", test::gzip(Bytes(text.begin(), text.end())));
  EXPECT_EQ(reals(read_csv(path).column("a")), (Reals{1, 2}));
}

/// As of cat a.csv.gz b.csv.gz, pigz -i and bgzip.
TEST_F(Csv, ReadsGzipOfSeveralMembers) {
  std::string content = "a\n";
  Bytes packed = test::gzip(Bytes(content.begin(), content.end()));
  Reals want;
  for (int member = 0; member < 300; ++member) {
    std::string more;
    for (int line = 0; line < member; ++line) {
      want.push_back(member * 1000 + line * 7919 % 997);
      more += std::to_string(static_cast<int>(want.back())) + "\n";
    }
    const Bytes next = test::gzip(Bytes(more.begin(), more.end()));
    packed.insert(packed.end(), next.begin(), next.end());
  }
  EXPECT_EQ(reals(read_csv(write("t.csv.gz", packed)).column("a")), want);
}

TEST_F(Csv, NegativeZerosStayInColumnsOfReals) {
  std::string text = "a,b\n";
  for (int line = 0; line < 200'000; ++line) text += "-0,-0\n";
  const int before = num_threads();
  set_num_threads(4);
  const Table read = table(text + "0.5,0\n");
  set_num_threads(before);
  const Reals a = reals(read.column("a"));
  EXPECT_TRUE(std::all_of(a.begin(), a.end() - 1, [](double v) { return v == 0 && std::signbit(v); }));
  EXPECT_EQ(a.back(), 0.5);
  EXPECT_EQ(read.column("b").dtype(), int64);
}

TEST_F(Csv, RefusesMalformedFiles) {
  EXPECT_TRUE(has(refused(""), "an empty file"));
  EXPECT_TRUE(has(refused("\n\r\n\n"), "only empty lines"));
  EXPECT_TRUE(has(refused("a,b\n1,2\n3\n"), "line 3, column 1 'a': found 1 field  (csv_test.cpp"));
  EXPECT_TRUE(has(refused("a,b\n1,2,3\n"), "line 2, column 3: found more than 2 fields"));
  EXPECT_TRUE(has(refused("a,b\n1,\"2\n3,4\n"), "line 2, column 2 'b': found a quote that is not closed"));
  EXPECT_TRUE(has(refused("a,b\n1,\"2\"x\n"), "line 2, column 2 'b': found text after a closing quote"));
  EXPECT_TRUE(has(refused("a,b\n5\",2\n"), "line 2, column 1 'a': found a quote within"));
  EXPECT_TRUE(has(refused(std::string("a\n1\0\n", 5)), "a zero byte on line 2"));
  EXPECT_TRUE(has(refused("a\n1\r2\n"), "line 2, column 1 'a': found a carriage return"));
  EXPECT_TRUE(has(refused("a,b,a\n1,2,3\n"), "line 1, column 3 'a': found the name of column 1 again"));
  EXPECT_TRUE(has(refused("\xff\xfe"
                          "a"),
                  "UTF-16"));
  EXPECT_TRUE(has(refused("PK\x03\x04"), "a zip archive"));
  EXPECT_TRUE(has(refused("\"a\nb"), "line 1, column 1: found a quote that is not closed"));
  EXPECT_TRUE(has(refused("a,b\n1,2\n\"x\ny\",yes\n", {.numbers = {"a"}}), "line 3, column 1 'a': found '\"x'"));
  const std::string text = "a\n1\n";
  Bytes cut = test::gzip(Bytes(text.begin(), text.end()));
  cut.resize(cut.size() - 5);
  const auto path = write("t.csv.gz", cut);
  EXPECT_TRUE(has(error_of<FormatError>([&] { read_csv(path); }), "truncated"));
}

TEST_F(Csv, NumbersThatADtypeCannotHoldAreRefused) {
  const Table t = table("a,b\n127,128\n-128,70000\n");
  EXPECT_EQ(t.tensor({"a"}, {.dtype = DType::int8})(1, 0).item(), -128);
  EXPECT_EQ(t.tensor({"b"}, {.dtype = DType::int32})(1, 0).item(), 70000);
  for (const DType dtype : {DType::int8, DType::int16, DType::uint8})
    EXPECT_TRUE(has(error_of<ValueError>([&] { (void)t.tensor({"b"}, {.dtype = dtype}); }), "cannot hold the value"));
}

TEST_F(Csv, TimesAreSecondsSince1970) {
  const Table t = table(
      "at,x\n1970-01-02,1\n2024-02-29T23:59:58.75Z,2\n2024-02-29 12:30,3\n1969-12-31T23:00:00+02:00,4\n"
      "2000-01-01T00:00:00-0530,5\n",
      {.times = {"at"}});
  EXPECT_EQ(t.column("at").to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{86400, 1709251198, 1709209800, -10800, 946704600}));
  EXPECT_FALSE(t.is_category("at"));
  for (const char* bad : {"2023-02-29", "2024-13-01", "24-01-01", "2024-01-01T24:00", "2024-01-01x", "2024-01-01T12",
                          "2024-01-01T12:30:15.", "2024-01-01T12:30+2", "noon"})
    EXPECT_TRUE(has(refused(std::string("at\n2024-01-01\n") + bad + "\n", {.times = {"at"}}), bad)) << bad;
}

TEST_F(Csv, ATextThatIsNoTimeHasItsLine) {
  EXPECT_TRUE(has(refused("x,at\n1,2024-01-01\n\n\"2\n3\",2024-01-02\n4,noon\n5,noon\n", {.times = {"at"}}),
                  "line 6, column 2 'at': found 'noon'"));
}

TEST_F(Csv, AColumnHasOneKind) {
  const std::string path = file("at,x\n2024,1\n");
  const auto both = [&](const CsvOptions& options) { return error_of<ValueError>([&] { read_csv(path, options); }); };
  EXPECT_TRUE(has(both({.numbers = {"at"}, .times = {"at"}}), ".numbers and .times both name 'at'"));
  EXPECT_TRUE(has(both({.categories = {"x", "at"}, .times = {"at"}}), ".times and .categories both name 'at'"));
  EXPECT_TRUE(has(both({.numbers = {"x"}, .categories = {"x"}}), ".numbers and .categories both name 'x'"));
  EXPECT_EQ(read_csv(path, {.numbers = {"x", "x"}}).rows(), 1);
}

TEST_F(Csv, MissingCellsAreFilledOrDropped) {
  const Table t = table("day,n,kind\n,1,\n2024-01-01,,b\n,3,\n2024-01-03,4,a\n", {.times = {"day"}});
  EXPECT_EQ(t.column("day").dtype(), float64);
  const Table filled = t.fill_forward(), one = t.fill_forward({"n"});
  EXPECT_EQ(filled.missing("day"), 1) << "nothing stands before the first";
  EXPECT_TRUE(std::isnan(reals(filled.column("day"))[0]));
  EXPECT_EQ(reals(filled.column("day"))[2], 1704067200);
  EXPECT_EQ(reals(filled.column("n")), (Reals{1, 1, 3, 4}));
  EXPECT_EQ(filled.column("kind").to_vector<std::int64_t>(), (std::vector<std::int64_t>{-1, 1, 1, 0}));
  EXPECT_EQ(one.missing("n"), 0);
  EXPECT_EQ(one.missing("kind"), 2);
  const Table whole = filled.drop_missing(), days = t.drop_missing({"day"});
  EXPECT_EQ(whole.rows(), 3);
  EXPECT_EQ(whole.column("day").to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{1704067200, 1704067200, 1704240000}));
  EXPECT_EQ(whole.column("day").dtype(), int64);
  EXPECT_EQ(days.rows(), 2);
  EXPECT_EQ(days.missing("n"), 1);
  EXPECT_EQ(t.rows(), 4) << "the table itself stays as it is";
  EXPECT_EQ(t.drop_missing({"day", "n", "kind"}).dataset("kind").size(), 1);
  EXPECT_THROW((void)t.fill_forward({"none"}), IndexError);
  EXPECT_TRUE(has(error_of<IndexError>([&] { (void)t.drop_missing({"none"}); }), "Table::drop_missing"));
}

TEST_F(Csv, SuggestsTheSeparatorOfATableWithOneColumn) {
  EXPECT_TRUE(has(error_of<IndexError>([&] { table("a;b\n1;2\n").column("a"); }), ".separator = ';'"));
  EXPECT_TRUE(has(error_of<IndexError>([&] { table("a\tb\n1\t2\n").column("b"); }), ".separator = '\\t'"));
  EXPECT_TRUE(has(error_of<IndexError>([&] { table("a,b\n1,2\n").column("c"); }), "names are case-sensitive"));
}

TEST(TableOfColumns, TakesWholeColumnsOnly) {
  using Column = Table::Column;
  const auto make = [](const Column& column, std::int64_t rows) { return Table({"a"}, {column}, rows); };
  const Tensor six = arange(6, {.dtype = float64});
  const Table strided = make({.values = six.view({3, 2}).select(1, 0)}, 3);
  EXPECT_EQ(reals(strided.tensor({"a"})), (Reals{0, 2, 4}));
  EXPECT_EQ(reals(strided.drop_missing().column("a")), (Reals{0, 2, 4}));
  EXPECT_TRUE(make({.values = six}, 6).column("a").is_same(six)) << "not copied";
  for (const Tensor& bad : {full({300}, 2.F), full({300}, 2, {.dtype = int32}), full({300}, 1, {.dtype = bool_})})
    EXPECT_TRUE(has(error_of<DTypeError>([&] { make({.values = bad}, 300).drop_missing(); }), "column 'a'"));
  EXPECT_THROW(make({.values = six, .category = true}, 6), DTypeError);
  EXPECT_THROW(make({.values = six, .time = true}, 7), ShapeError);
  EXPECT_TRUE(has(error_of<ShapeError>([&] { make({.values = six.reshape({2, 3})}, 2); }), "column 'a'"));
  EXPECT_THROW(make({}, 0), ValueError);
  EXPECT_THROW(make({.values = six.to("sim")}, 6), DeviceError);
  const Tensor numbers = tensor({0, -1, 1}, {.dtype = int64});
  EXPECT_EQ(make({.values = numbers, .category = true, .vocabulary = {"x", "y"}}, 3).rows(), 3);
  EXPECT_TRUE(has(error_of<IndexError>([&] { make({.values = numbers, .category = true, .vocabulary = {"x"}}, 3); }),
                  "column 'a' has category 1"));
}

TEST_F(Csv, PrintsItsFirstAndLastRows) {
  const Table t = table("day,x,naïve\n2024-01-01,0.5,ü\n2024-01-02T03:04:05,,abcdefghijklmnopqrstuvwxyz0123456789\n",
                        {.times = {"day"}});
  std::ostringstream out;
  out << t;
  EXPECT_EQ(out.str(),
            "                   day        x                           naïve\n"
            "                  time  float64                        category\n"
            "0           2024-01-01      0.5                               ü\n"
            "1  2024-01-02T03:04:05      NaN  abcdefghijklmnopqrstuvwxyz0...\n"
            "[2 rows, 3 columns]\n");
  std::string many = "n\n";
  for (int i = 0; i < 100; ++i) many += std::to_string(i) + "\n";
  const std::string shown = table(many).to_string();
  EXPECT_TRUE(has(shown, "\n  4      4\n...    ...\n 95     95\n")) << shown;
  EXPECT_TRUE(has(table("a\n").to_string(), "[0 rows, 1 columns]"));
}

}  // namespace
}  // namespace minnow
