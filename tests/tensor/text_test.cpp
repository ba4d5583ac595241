#include <minnow/tensor/text.h>

#include <gtest/gtest.h>
#include <iomanip>
#include <sstream>
#include <streambuf>
#include <minnow/tensor/create.h>
#include <minnow/tensor/device.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/shape.h>

namespace minnow {
namespace {

/// A stream buffer that fails after some characters: out of memory, or full.
class Small : public std::streambuf {
 public:
  Small(std::size_t room, bool throws) : room_(room), throws_(throws) {}
  const std::string& text() const { return text_; }

 private:
  int_type overflow(int_type c) override {
    if (text_.size() < room_) {
      text_ += traits_type::to_char_type(c);
      return c;
    }
    if (throws_) throw std::bad_alloc();
    return traits_type::eof();
  }

  std::size_t room_;
  bool throws_;
  std::string text_;
};

TEST(Text, PartialWritesAreErrors) {
  const Tensor x = full({2}, 1.5);
  Small no_memory(5, true);
  std::ostream out(&no_memory);
  EXPECT_THROW(out << x, std::bad_alloc);
  EXPECT_TRUE(out.bad());
  EXPECT_EQ(no_memory.text(), "tenso");
  out << x;  // a failed stream writes nothing, and stays failed
  EXPECT_FALSE(out.good());

  Small full_up(5, false);
  std::ostream disk(&full_up);
  disk << Shape{64, 784};
  EXPECT_TRUE(disk.bad());
  std::ostream strict(&no_memory);
  strict.exceptions(std::ios_base::badbit);
  EXPECT_THROW(strict << Device("cpu"), std::bad_alloc) << "what happened, not that the stream is bad";
}

TEST(Text, IsCutToTheWidth) {
  std::ostringstream out;
  out << std::setw(8) << Device("cpu") << '|' << std::left << std::setfill('.') << std::setw(8) << Shape{1, 2} << '|'
      << std::setw(2) << DType::float32;
  EXPECT_EQ(out.str(), "     cpu|[1, 2]..|float32");
}

TEST(Text, TypesAreNamedWithoutNamespaces) {
  EXPECT_TRUE(type_name(typeid(std::streambuf)).starts_with("basic_streambuf<char, std::"));
  EXPECT_EQ(type_name(typeid(Small)), "Small");
}

}  // namespace
}  // namespace minnow
