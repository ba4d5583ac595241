#include <cmath>
#include <gtest/gtest.h>
#include <minnow/tensor/backend/library.h>

namespace minnow::cuda {
namespace {

const LibraryName kMath{"libm", "MINNOW_TEST_LIBRARY", {"libm.so.6"}, "install a C library"};

class LibraryTest : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("MINNOW_TEST_LIBRARY"); }
};

TEST_F(LibraryTest, SearchOrder) {
  const LibraryName name{"x", "X", {"libx.so.2", "libx.so.1"}, ""};
  EXPECT_EQ(library_files(name, "/my/libx.so", "/opt/cuda"), (std::vector<std::string>{"/my/libx.so"}));
  EXPECT_EQ(
      library_files(name, "", "/opt/cuda"),
      (std::vector<std::string>{"libx.so.2", "libx.so.1", "/opt/cuda/lib64/libx.so.2", "/opt/cuda/lib64/libx.so.1",
                                "/usr/local/cuda/lib64/libx.so.2", "/usr/local/cuda/lib64/libx.so.1"}));
  EXPECT_EQ(library_files(name, nullptr, nullptr).size(), 4u);
  const LibraryName built{"x", "X", {"libx.so"}, "", "/site/nvidia/cudnn/lib:/site/nvidia/cu13/lib"};
  EXPECT_EQ(library_files(built, nullptr, nullptr),
            (std::vector<std::string>{"libx.so", "/site/nvidia/cudnn/lib/libx.so", "/site/nvidia/cu13/lib/libx.so",
                                      "/usr/local/cuda/lib64/libx.so"}));
}

TEST_F(LibraryTest, BindsFunctions) {
  const Library library(kMath);
  EXPECT_EQ(library.file(), "libm.so.6");
  double (*cosine)(double) = nullptr;
  library.bind(cosine, "cos");
  EXPECT_EQ(cosine(0.0), 1.0);
  EXPECT_THROW(library.bind(cosine, "no_such_function"), BackendError);
}

TEST_F(LibraryTest, MissingLibraryNamesFilesAndHint) {
  try {
    const Library library({"cuNone", "MINNOW_TEST_LIBRARY", {"libcunone.so.9"}, "install it with pip"});
    FAIL() << "loaded a library that does not exist";
  } catch (const BackendError& e) {
    const std::string text = e.what();
    for (const char* part : {"cuNone", "libcunone.so.9", "/usr/local/cuda/lib64/libcunone.so.9", "install it with pip",
                             "MINNOW_TEST_LIBRARY"})
      EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in\n" << text;
  }
}

TEST_F(LibraryTest, TheEnvironmentVariableIsTheOnlyPlaceSearched) {
  setenv("MINNOW_TEST_LIBRARY", "/nowhere/libother.so", 1);
  EXPECT_THROW(const Library library(kMath), BackendError);
  setenv("MINNOW_TEST_LIBRARY", "libm.so.6", 1);
  EXPECT_EQ(Library({"x", "MINNOW_TEST_LIBRARY", {"libnone.so"}, ""}).file(), "libm.so.6");
}

}  // namespace
}  // namespace minnow::cuda
