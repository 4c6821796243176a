#include "apps/interrupt.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(InterruptTest, HoldsTheFirstSignalBack) {
  const Interrupt interrupt;
  EXPECT_EQ(interrupt.signal(), 0);
  std::raise(SIGTERM);
  EXPECT_EQ(interrupt.signal(), SIGTERM);
}

TEST(InterruptTest, StartsAnew) {
  {
    const Interrupt interrupt;
    std::raise(SIGINT);
  }
  const Interrupt interrupt;
  EXPECT_EQ(interrupt.signal(), 0);
}

TEST(InterruptDeathTest, TheSecondSignalEndsTheProcess) {
  const auto twice = [] {
    const Interrupt interrupt;
    std::raise(SIGINT);
    std::raise(SIGINT);
  };
  EXPECT_EXIT(twice(), ::testing::KilledBySignal(SIGINT), "");
}

TEST(InterruptDeathTest, AfterwardsSignalsDoWhatTheyDidBefore) {
  const auto after = [] {
    { const Interrupt interrupt; }
    std::raise(SIGTERM);
  };
  EXPECT_EXIT(after(), ::testing::KilledBySignal(SIGTERM), "");
}

TEST(InterruptTest, AnIgnoredSignalStaysIgnored) {
  struct sigaction ignore = {}, before;
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGINT, &ignore, &before);
  {
    const Interrupt interrupt;
    std::raise(SIGINT);
    EXPECT_EQ(interrupt.signal(), 0);
  }
  sigaction(SIGINT, &before, nullptr);
}

TEST(InterruptTest, SignalsHaveNames) {
  EXPECT_EQ(SignalName(SIGINT), "SIGINT");
  EXPECT_EQ(SignalName(SIGTERM), "SIGTERM");
  EXPECT_EQ(SignalName(200), "signal 200");
}

}  // namespace
}  // namespace dtnn
