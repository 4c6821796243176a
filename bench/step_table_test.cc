#include "bench/step_table.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

const StepLine* Find(const StepTable& table, std::string_view kernel) {
  const auto found = std::ranges::find(table.lines, kernel, &StepLine::kernel);
  return found == table.lines.end() ? nullptr : &*found;
}

TEST(StepTableTest, HoldsTheOperandsOfProducts) {
  const auto table = TableOfStep({.model = "simplemlp", .batch = 7, .math_mode = MathMode::kFp32});
  ASSERT_TRUE(table.ok()) << table.status();
  const StepLine* const update = Find(*table, "update");
  ASSERT_NE(update, nullptr) << ToText(*table);
  EXPECT_EQ(update->launches, 1);
  // For each parameter: its gradient is read; the parameter and Adam's moments are written.
  EXPECT_NEAR(update->written_bytes, 3 * update->read_bytes, 256);  // and the rate
  EXPECT_GT(table->library_bytes, 0);
  double bytes = 0;
  for (const StepLine& line : table->lines) bytes += line.read_bytes + line.written_bytes;
  EXPECT_EQ(bytes, table->own_bytes + table->library_bytes);
}

// Neither the memory nor the time that a simulated GPU would need.
TEST(StepTableTest, NeedsNoGpuForLargeBatches) {
  const ModelRunOptions options = {
      .model = "resnet20_cifar10", .batch = 1024, .math_mode = MathMode::kBf16};
  const auto large = TableOfStep(options);
  ASSERT_TRUE(large.ok()) << large.status();
  ModelRunOptions half = options;
  half.batch = 512;
  const auto small = TableOfStep(half);
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_EQ(large->launches, small->launches);
  EXPECT_NEAR(large->own_bytes / small->own_bytes, 2, 0.01);
  EXPECT_GT(large->predicted_seconds, small->predicted_seconds);
  EXPECT_THAT(ToJson(*large, options),
              ::testing::StartsWith(R"({"model":"resnet20_cifar10","batch":1024,"format":"NHWC")"));
}

}  // namespace
}  // namespace dtnn
