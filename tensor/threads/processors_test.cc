#include "tensor/threads/processors.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(ProcessorsTest, ThereIsAtLeastOne) {
  EXPECT_GE(ProcessorsOf(0), 1);
  EXPECT_EQ(ProcessorsOf(0), ProcessorsOf(getpid()));
  EXPECT_GE(ProcessorsOfLauncher(), ProcessorsOf(0));
}

TEST(ProcessorsTest, AProcessThatIsNotThereCountsAsOne) { EXPECT_EQ(ProcessorsOf(-1), 1); }

TEST(ProcessorsTest, AnEarlierErrorIsNotItsOwn) {
  const int count = ProcessorsOf(0);
  errno = EINVAL;
  EXPECT_EQ(ProcessorsOf(0), count);
}

TEST(ProcessorsTest, AQuotaLeavesFewer) {
  EXPECT_EQ(WithinQuota(8, std::nullopt), 8);
  EXPECT_EQ(WithinQuota(8, 64.0), 8);
  EXPECT_EQ(WithinQuota(8, 8.0), 8);
  EXPECT_EQ(WithinQuota(8, 3.4), 3);
  EXPECT_EQ(WithinQuota(8, 1.6), 2);
  EXPECT_EQ(WithinQuota(2, 0.5), 1);
  EXPECT_EQ(WithinQuota(2, 0.001), 1);
}

TEST(ProcessorsTest, AChildThatIsBoundKnowsWhatItsParentHas) {
  const int mine = ProcessorsOf(0);
  const pid_t child = fork();
  if (child == 0) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    const bool bound = sched_setaffinity(0, sizeof(one), &one) == 0;
    _exit(bound && ProcessorsOf(0) == 1 && ProcessorsOfLauncher() == mine ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace dtnn
