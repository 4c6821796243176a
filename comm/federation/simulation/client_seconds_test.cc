#include "comm/federation/simulation/client_seconds.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

TEST(ClientSecondsTest, TextsSayTheSpread) {
  EXPECT_EQ(Must(ParseClientSeconds("equal")).spread, 0);
  EXPECT_EQ(Must(ParseClientSeconds("lognormal:0")).spread, 0);
  EXPECT_EQ(Must(ParseClientSeconds("lognormal:1.5")).spread, 1.5);
  for (const std::string text : {"", "normal:1", "lognormal", "lognormal:", "lognormal:-1",
                                 "lognormal:10.5", "lognormal:nan", "lognormal:1x"}) {
    EXPECT_EQ(ParseClientSeconds(text).status().message(),
              "\"" + text +
                  "\": expected equal, or lognormal:SPREAD with a spread from 0 to 10, such as "
                  "lognormal:1");
  }
}

// Means and deviations of the logarithms of 4000 clients are off by 3 / sqrt(4000) = 0.047 seldom.
TEST(ClientSecondsTest, LogarithmsAreNormalAndBelongToTheClient) {
  const SimulationSeed seed = Must(SimulationSeed::Of(1)), other = Must(SimulationSeed::Of(2));
  const auto of = [](const SimulationSeed& seed, int client) {
    return Must(SecondsOf({.spread = 2}, seed, client));
  };
  double sum = 0, squares = 0;
  int beyond = 0;
  for (int client = 0; client < 4000; ++client) {
    const double z = std::log(of(seed, client)) / 2;
    sum += z;
    squares += z * z;
    beyond += std::abs(z) > 1.96 ? 1 : 0;
  }
  EXPECT_NEAR(sum / 4000, 0, 0.05);
  EXPECT_NEAR(squares / 4000, 1, 0.1);
  EXPECT_NEAR(beyond / 4000.0, 0.05, 0.015);
  EXPECT_EQ(of(seed, 7), of(seed, 7));
  EXPECT_NE(of(seed, 7), of(seed, 8));
  EXPECT_NE(of(seed, 7), of(other, 7));
  EXPECT_EQ(Must(SecondsOf({}, seed, 7)), 1);
}

}  // namespace
}  // namespace dtnn::federation
