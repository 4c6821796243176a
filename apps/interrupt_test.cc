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

TEST(InterruptTest, AClosedTerminalMayTellItTwice) {
  const Interrupt interrupt;
  std::raise(SIGHUP);
  std::raise(SIGHUP);
  EXPECT_EQ(interrupt.signal(), SIGHUP);
}

TEST(InterruptDeathTest, AfterwardsSignalsDoWhatTheyDidBefore) {
  const auto after = [](int signal) {
    { const Interrupt interrupt; }
    std::raise(signal);
  };
  EXPECT_EXIT(after(SIGTERM), ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(after(SIGHUP), ::testing::KilledBySignal(SIGHUP), "");
}

TEST(InterruptTest, AnIgnoredSignalStaysIgnored) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction ignore = {}, before;
    ignore.sa_handler = SIG_IGN;
    sigaction(signal, &ignore, &before);
    {
      const Interrupt interrupt;
      std::raise(signal);
      EXPECT_EQ(interrupt.signal(), 0) << SignalName(signal);
    }
    sigaction(signal, &before, nullptr);
  }
}

TEST(InterruptTest, SignalsHaveNames) {
  EXPECT_EQ(SignalName(SIGINT), "SIGINT");
  EXPECT_EQ(SignalName(SIGTERM), "SIGTERM");
  EXPECT_EQ(SignalName(SIGHUP), "SIGHUP");
  EXPECT_EQ(SignalName(200), "signal 200");
}

}  // namespace
}  // namespace dtnn
