#include "models/run/tables/best_of_table.h"

#include <string>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

BestOfKey Key(const std::string& direction, const std::string& problem) {
  return {.operation = "conv2d",
          .direction = direction,
          .problem = problem,
          .threads = 2,
          .machine = "AVX3"};
}

TEST(BestOfTableTest, ATablePerGroup) {
  BestOf::Options options;
  options.known.Add(Key("forward", "n1h8w8"),
                    {.chosen = "winograd", .candidates = {{"gemm", 30}, {"winograd", 10.04}}});
  options.known.Add(Key("forward", "n1"),
                    {.chosen = "gemm", .candidates = {{"gemm", 5}, {"i2c", {}}}});
  options.known.Add(Key("backward", "n1"), {.chosen = "x", .candidates = {{"x", {}}}});
  options.known.Add(Key("backward", "unused"), {.chosen = "x", .candidates = {{"x", 1}}});
  BestOf best_of(options);
  EXPECT_EQ(FormatBestOf(best_of), "");
  const auto use = [&](const BestOfKey& key) {
    EXPECT_TRUE(best_of.Choose(key, [] { return absl::InternalError("timed"); }).ok());
  };
  use(Key("forward", "n1h8w8"));
  use(Key("forward", "n1h8w8"));
  use(Key("forward", "n1"));
  use(Key("backward", "n1"));
  EXPECT_EQ(FormatBestOf(best_of),
            "**** BestOf: conv2d backward, median microseconds of a call (t2, AVX3); speed-up over "
            "the automatic choice\n"
            "  size   layers            x     speed-up\n"
            "  n1          1           *-            -\n"
            "  all         1                         -\n"
            "**** BestOf: conv2d forward, median microseconds of a call (t2, AVX3); speed-up over "
            "the automatic choice\n"
            "  size     layers         gemm          i2c     winograd     speed-up\n"
            "  n1            1         *5.0            -                      1.00\n"
            "  n1h8w8        2         30.0                     *10.0         2.99\n"
            "  all           3                                                2.59\n");
}

TEST(BestOfTableTest, LongNamesHaveWideColumns) {
  BestOf::Options options;
  options.known.Add(
      Key("forward", "n1"),
      {.chosen = "i2c", .candidates = {{"convdirect_tzemeng_nhwc_7x12_u4", 5}, {"i2c", 4}}});
  BestOf best_of(options);
  ASSERT_TRUE(
      best_of.Choose(Key("forward", "n1"), [] { return absl::InternalError("timed"); }).ok());
  const std::string text = FormatBestOf(best_of);
  EXPECT_EQ(text.substr(text.find('\n') + 1),
            "  size   layers convdirect_tzemeng_nhwc_7x12_u4          i2c     speed-up\n"
            "  n1          1                             5.0         *4.0         1.25\n"
            "  all         1                                                      1.25\n");
}

}  // namespace
}  // namespace dtnn
