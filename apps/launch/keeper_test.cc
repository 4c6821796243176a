#include "apps/launch/keeper.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

// A process with a group of its own, which waits to be killed, or for the end of this one.
pid_t StartGroup() {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (true) pause();
  }
  setpgid(child, child);
  return child;
}

int SignalThatEnded(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

// A number that was given back may be another's by then.
TEST(KeeperTest, KillsTheGroupsThatItWatchesAndNotThoseThatAreNoMore) {
  // Before the keeper, to whose pipe they would hold on.
  const pid_t left = StartGroup(), forgotten = StartGroup(), again = StartGroup();
  auto keeper = std::make_unique<Keeper>();
  for (const pid_t group : {left, forgotten, again}) keeper->Watch(group);
  keeper->Forget(forgotten);
  keeper->Forget(again);
  keeper->Watch(again);
  keeper.reset();  // returns when it has ended
  EXPECT_EQ(SignalThatEnded(left), SIGKILL);
  EXPECT_EQ(SignalThatEnded(again), SIGKILL);
  ASSERT_EQ(kill(forgotten, SIGTERM), 0);
  EXPECT_EQ(SignalThatEnded(forgotten), SIGTERM);
}

}  // namespace
}  // namespace dtnn
