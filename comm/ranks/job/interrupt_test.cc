#include "comm/ranks/job/interrupt.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(InterruptTest, HoldsTheFirstSignalBack) {
  const Interrupt interrupt;
  EXPECT_EQ(interrupt.signal(), 0);
  std::raise(SIGTERM);
  EXPECT_EQ(interrupt.signal(), SIGTERM);
}

// Whether the process waits for something, with no signal on its way to it.
bool Waits(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  const std::string status(std::istreambuf_iterator<char>(file), {});
  return status.find("State:\tS") != std::string::npos &&
         status.find("ShdPnd:\t0000000000000000") != std::string::npos;
}

TEST(InterruptTest, CallsOfTheSystemGoOn) {
  const Interrupt interrupt;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t reader = getpid(), child = fork();
  if (child == 0) {
    const auto await = [&] {
      while (!Waits(reader)) sched_yield();
    };
    await();
    kill(reader, SIGTERM);
    await();
    _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
  }
  char got = 0;
  EXPECT_EQ(read(ends[0], &got, 1), 1) << std::strerror(errno);
  EXPECT_EQ(interrupt.signal(), SIGTERM);
  waitpid(child, nullptr, 0);
}

TEST(InterruptTest, StartsAnew) {
  {
    const Interrupt interrupt;
    std::raise(SIGINT);
    EXPECT_EQ(Interrupt::Last(), SIGINT);
  }
  EXPECT_EQ(Interrupt::Last(), 0);
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

TEST(InterruptTest, TheFirstOfEachKindIsDeferred) {
  const Interrupt interrupt;
  std::raise(SIGINT);
  std::raise(SIGTERM);
  EXPECT_EQ(interrupt.signal(), SIGTERM);
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
