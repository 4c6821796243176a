#include "models/training/pass_speed.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(PassSpeedTest, SamplesAreThoseSinceTheBegin) {
  PassSpeed speed;
  EXPECT_EQ(speed.samples_per_second(), 0);
  speed.End({.done = 9});
  EXPECT_EQ(speed.samples(), 0) << "nothing has begun";
  const Stopwatch watch;
  speed.Begin({.done = 30});
  speed.End({.done = 100});
  EXPECT_EQ(speed.samples(), 70);
  EXPECT_LE(speed.seconds(), watch.seconds());
  EXPECT_NEAR(speed.samples_per_second() * speed.seconds(), speed.seconds() > 0 ? 70 : 0, 1e-9);
  speed.End({.done = 200});
  EXPECT_EQ(speed.samples(), 70) << "a pass ends once";
}

}  // namespace
}  // namespace dtnn
