#include "comm/mpi/peer_processes.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

// A child process that waits to be killed.
class Child {
 public:
  Child() {
    int ends[2];
    if (pipe(ends) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      const ProcessId mine = ProcessId::Mine();
      if (write(ends[1], &mine, sizeof(mine)) != sizeof(mine)) _exit(1);
      while (true) pause();
    }
    EXPECT_EQ(read(ends[0], &id_, sizeof(id_)), ssize_t(sizeof(id_)));
    close(ends[0]);
    close(ends[1]);
  }
  ~Child() {
    if (pid_ > 0) Collect();
  }
  const ProcessId& id() const { return id_; }
  // It stays a zombie.
  void Kill() {
    kill(pid_, SIGKILL);
    siginfo_t info;
    waitid(P_PID, id_t(pid_), &info, WEXITED | WNOWAIT);
  }
  void Collect() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  ProcessId id_;
};

TEST(PeerProcessesTest, AProcessHasEndedOnceItWasKilled) {
  Child child;
  EXPECT_EQ(EndedRanks({ProcessId::Mine(), child.id()}), std::vector<int>());
  child.Kill();
  EXPECT_EQ(EndedRanks({ProcessId::Mine(), child.id()}), std::vector<int>({1}));
  child.Collect();
  EXPECT_EQ(EndedRanks({child.id(), ProcessId::Mine(), child.id()}), std::vector<int>({0, 2}));
}

TEST(PeerProcessesTest, ANumberThatIsUsedAgainIsAnotherProcess) {
  ProcessId before = ProcessId::Mine();
  before.started -= 1;
  EXPECT_EQ(EndedRanks({before}), std::vector<int>({0}));
}

TEST(PeerProcessesTest, NothingIsKnownOfOtherHosts) {
  Child child;
  child.Kill();
  ProcessId far = child.id();
  far.host += 1;
  EXPECT_EQ(EndedRanks({far}), std::vector<int>());
}

}  // namespace
}  // namespace dtnn
