#include "comm/federation/aggregator/roster/refusal_log.h"

#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RefusalLogTest, LinesAreLimitedAndTheOthersAreCounted) {
  RefusalLog log;
  RefusalLog::Clock::time_point now{seconds(1000)};
  for (int i = 0; i < RefusalLog::kAtOnce; ++i)
    EXPECT_EQ(log.Line("a: why", now), "refused: a: why");
  for (int i = 0; i < 300; ++i) EXPECT_EQ(log.Line("b: why", now += milliseconds(3)), "");
  now += seconds(1);
  EXPECT_EQ(log.Line("c: why", now), "refused: c: why (and 300 more before this, not logged)");
  EXPECT_EQ(log.Line("d: why", now), "");
  now += seconds(3);
  EXPECT_EQ(log.Line("e: why", now), "refused: e: why (and 1 more before this, not logged)");
  EXPECT_EQ(log.Line("f: why", now), "refused: f: why");
}

// However long nothing was refused.
TEST(RefusalLogTest, NoMoreThanThatComeAtOnce) {
  RefusalLog log;
  int lines = 0;
  for (int hour = 1; hour <= 2; ++hour) {
    const RefusalLog::Clock::time_point now{std::chrono::hours(1000 * hour)};
    for (int i = 0; i < 1000; ++i) lines += log.Line("a", now).empty() ? 0 : 1;
  }
  EXPECT_EQ(lines, 2 * RefusalLog::kAtOnce);
}

}  // namespace
}  // namespace dtnn::federation
