// What steps of training move through a GPU's memory, as a table that shows changes:
// bench/testdata/gpu_steps.txt. To write it anew after an intended change:
//
//   DTNN_GPU_STEPS_FILE=$PWD/bench/testdata/gpu_steps.txt bazel-bin/bench/gpu_steps_test

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_format.h"
#include "bench/step_table.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

constexpr char kFile[] = "bench/testdata/gpu_steps.txt";

struct Setting {
  const char* model;
  int64_t batch;
  MathMode mode = MathMode::kBf16;
};
constexpr Setting kSettings[] = {
    {"resnet50_imagenet", 128},   {"resnet50_imagenet", 128, MathMode::kTf32},
    {"resnet20_cifar10", 128},    {"resnet20_cifar10", 1024},
    {"vgg16_cifar10", 128},       {"mobilenetv1", 128},
    {"densenet121_cifar10", 128},
};

// Without what is predicted: constants of a card may be measured anew.
std::string Describe(const Setting& setting, const StepTable& table) {
  std::string text = absl::StrFormat(
      "%s, batch %d, %s: own kernels %.2f GB, libraries %.2f GB, %d launches, %d copies\n",
      setting.model, setting.batch, Name(setting.mode), table.own_bytes / 1e9,
      table.library_bytes / 1e9, table.launches, table.copies);
  for (const StepLine& line : table.lines) {
    text += absl::StrFormat("  %-32s %4d %9.1f MB read %9.1f MB written%s\n", line.kernel,
                            line.launches, line.read_bytes / 1e6, line.written_bytes / 1e6,
                            line.library ? ", library" : "");
  }
  return text + "\n";
}

TEST(GpuStepsTest, MoveWhatTheTableSays) {
  std::string tables;
  for (const Setting& setting : kSettings) {
    const auto table =
        TableOfStep({.model = setting.model, .batch = setting.batch, .math_mode = setting.mode});
    ASSERT_TRUE(table.ok()) << setting.model << ": " << table.status();
    tables += Describe(setting, *table);
  }
  if (const char* const renewed = std::getenv("DTNN_GPU_STEPS_FILE")) {
    std::ofstream(renewed) << tables;
    GTEST_SKIP() << renewed << " is written anew";
  }
  std::ifstream file(kFile);
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(tables, expected.str()) << "the head of this test says how to update " << kFile;
}

}  // namespace
}  // namespace dtnn
