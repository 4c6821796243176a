// The shared library, opened while the program runs: its functions, and no others.

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/c/dtnn.h"

namespace {

using ::testing::HasSubstr;

std::string Path(const std::string& path) {
  return std::string(std::getenv("TEST_SRCDIR")) + "/dtnn/" + path;
}

std::string OutputOf(const std::string& command) {
  std::string text;
  FILE* const pipe = popen(command.c_str(), "r");
  char buffer[4096];
  while (const size_t n = std::fread(buffer, 1, sizeof(buffer), pipe)) text.append(buffer, n);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return text;
}

std::set<std::string> Matches(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), pattern), end; i != end; ++i) {
    found.insert((*i)[1]);
  }
  return found;
}

TEST(SharedLibraryTest, ShowsTheFunctionsOfTheHeaderAlone) {
  std::ifstream in(Path("models/c/dtnn.h"));
  const std::string header{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::set<std::string> declared =
      Matches(header, std::regex("DTNN_API [^;(]*(dtnn_[a-z_]+)\\("));
  EXPECT_GT(declared.size(), 12);
  const std::string symbols =
      OutputOf("nm --dynamic --defined-only --format=posix " + Path("models/c/libdtnn.so"));
  std::set<std::string> shown = Matches(symbols, std::regex("(?:^|\n)([^ @\n]+)[^\n]*"));
  shown.erase("DTNN_0");  // their version
  EXPECT_EQ(shown, declared);
}

template <class Function, class Declared>
constexpr bool kSame = std::is_same_v<Function*, Declared>;

// What programs that were linked with libdtnn.so.0 call. A line that no longer compiles is a new
// soname; a function that is added gets a line.
TEST(SharedLibraryTest, FunctionsAreThoseThatOldProgramsCall) {
  using Model = dtnn_model;
  static_assert(kSame<const char*(), decltype(&dtnn_version)>);
  static_assert(kSame<const char*(), decltype(&dtnn_last_error)>);
  static_assert(kSame<Model*(const char*, const char*), decltype(&dtnn_load)>);
  static_assert(kSame<void(Model*), decltype(&dtnn_free)>);
  static_assert(kSame<const char*(const Model*), decltype(&dtnn_name)>);
  static_assert(kSame<const char*(const Model*), decltype(&dtnn_warnings)>);
  static_assert(kSame<int(const Model*, int64_t*, int), decltype(&dtnn_input_shape)>);
  static_assert(kSame<const char*(const Model*), decltype(&dtnn_layout)>);
  static_assert(kSame<int64_t(const Model*), decltype(&dtnn_num_outputs)>);
  static_assert(kSame<int64_t(const Model*), decltype(&dtnn_num_parameters)>);
  static_assert(DTNN_CLASSES == 0 && DTNN_LABELS == 1 && DTNN_VALUES == 2);
  static_assert(kSame<int(const Model*), decltype(&dtnn_output_kind)>);
  static_assert(kSame<const char*(const Model*, int64_t), decltype(&dtnn_output_name)>);
  static_assert(kSame<int(Model*, const char* const*, size_t, float*, size_t),
                      decltype(&dtnn_predict_files)>);
  static_assert(kSame<int(Model*, const void* const*, const size_t*, size_t, float*, size_t),
                      decltype(&dtnn_predict_images)>);
  static_assert(
      kSame<int(Model*, const uint8_t*, int64_t, int64_t, int64_t, size_t, float*, size_t),
            decltype(&dtnn_predict_pixels)>);
  static_assert(
      kSame<int(Model*, const float*, size_t, float*, size_t), decltype(&dtnn_predict_floats)>);
}

TEST(SharedLibraryTest, NeedsNothingOfTraining) {
  const std::string dynamic = OutputOf("readelf --dynamic --wide " + Path("models/c/libdtnn.so"));
  EXPECT_THAT(dynamic, HasSubstr("Library soname: [libdtnn.so.0]"));
  EXPECT_THAT(dynamic, HasSubstr("NODELETE"));
  for (const char* library : {"libmpi", "libgrpc", "libblis", "libssl", "libmosquitto"}) {
    EXPECT_THAT(dynamic, Not(HasSubstr(library)));
  }
}

TEST(SharedLibraryTest, AnswersAfterDlopenAndStaysAfterDlclose) {
  for (int round = 0; round < 2; ++round) {
    void* const library = dlopen(Path("models/c/libdtnn.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto load =
        reinterpret_cast<void* (*)(const char*, const char*)>(dlsym(library, "dtnn_load"));
    const auto predict =
        reinterpret_cast<int (*)(void*, const uint8_t*, int64_t, int64_t, int64_t, size_t, float*,
                                 size_t)>(dlsym(library, "dtnn_predict_pixels"));
    const auto error = reinterpret_cast<const char* (*)()>(dlsym(library, "dtnn_last_error"));
    const auto release = reinterpret_cast<void (*)(void*)>(dlsym(library, "dtnn_free"));
    void* const model = load(Path("models/run/testdata/model.safetensors").c_str(), nullptr);
    ASSERT_NE(model, nullptr) << error();
    const std::vector<uint8_t> pixels(8 * 8, 100);
    float outputs[3] = {};
    ASSERT_EQ(predict(model, pixels.data(), 8, 8, 1, 1, outputs, 3), 0) << error();
    EXPECT_NEAR(outputs[0] + outputs[1] + outputs[2], 1, 1e-5);
    release(model);
    EXPECT_EQ(dlclose(library), 0);
  }
}

}  // namespace
