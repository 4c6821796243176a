#include "models/run/tables/rate_table.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(RateTableTest, ShowsTheLossAsBars) {
  EXPECT_EQ(FormatRateRange({.points = {{1e-7, 2}, {2.5e-3, 0.5}, {10, 4}}, .suggestion = 2.5e-4}),
            "  learning rate        loss\n"
            "        1.0e-07           2  ####################\n"
            "        2.5e-03         0.5  #####\n"
            "        1.0e+01           4  ########################################\n"
            "**** Learning rate: 0.00025, a tenth of the rate at which the loss was least\n");
}

TEST(RateTableTest, ManyUpdatesShareLines) {
  LearningRateRange range;
  for (int i = 1; i <= 99; ++i) range.points.push_back({.rate = double(i), .loss = 1});
  const std::string text = FormatRateRange(range);
  EXPECT_EQ(std::ranges::count(text, '\n'), 1 + 20 + 1);
  EXPECT_THAT(text, ::testing::HasSubstr("        5.0e+00 ")) << "the fifth ends the first line";
  EXPECT_THAT(text, ::testing::HasSubstr("        9.9e+01 ")) << "the last line is shorter";
}

}  // namespace
}  // namespace dtnn
