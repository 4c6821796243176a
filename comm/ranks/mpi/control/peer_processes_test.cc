// Ranks are processes of this program that only wait, with the environment that mpirun gives.

#include "comm/ranks/mpi/control/peer_processes.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

class PeerProcessesTest : public ::testing::Test {
 protected:
  PeerProcessesTest() {
    setenv("PMIX_NAMESPACE", job_.c_str(), 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4", 1);
    for (int rank = 0; rank < 4; ++rank) Start(rank, job_);
  }
  ~PeerProcessesTest() override {
    for (const pid_t pid : all_) kill(pid, SIGKILL);
    for (const pid_t pid : all_) waitpid(pid, nullptr, 0);
  }

  void Start(int rank, const std::string& job) {
    std::string name = "PMIX_NAMESPACE=" + job, number = "PMIX_RANK=" + std::to_string(rank);
    char program[] = "rank", wait[] = "wait";
    char* arguments[] = {program, wait, nullptr};
    char* environment[] = {name.data(), number.data(), nullptr};
    pid_t pid;
    ASSERT_EQ(posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, arguments, environment), 0);
    all_.push_back(pid);
    if (job == job_) ranks_[rank] = pid;
  }
  void Stop(int rank) {
    kill(ranks_[rank], SIGSTOP);
    ASSERT_EQ(waitpid(ranks_[rank], nullptr, WUNTRACED), ranks_[rank]);
  }
  // Its parent has not asked how it ended.
  void End(int rank) {
    siginfo_t info;
    kill(ranks_[rank], SIGKILL);
    ASSERT_EQ(waitid(P_PID, id_t(ranks_[rank]), &info, WEXITED | WNOWAIT), 0);
  }

  const std::string job_ = "job" + std::to_string(getpid());
  std::map<int, pid_t> ranks_;
  std::vector<pid_t> all_;
};

TEST_F(PeerProcessesTest, StoppedAndEndedRanksAreNamed) {
  EXPECT_EQ(DescribeAbsentRanks(), "");
  Stop(1);
  EXPECT_EQ(DescribeAbsentRanks(), "rank 1 is stopped");
  End(3);
  EXPECT_EQ(DescribeAbsentRanks(), "rank 1 is stopped; rank 3 is not found on this host");
  End(0);
  Stop(2);
  EXPECT_EQ(DescribeAbsentRanks(), "ranks 1, 2 are stopped; ranks 0, 3 are not found on this host");
}

TEST_F(PeerProcessesTest, ProcessesOfAnotherJobAreNoRanks) {
  End(2);
  Start(2, job_ + "0");
  EXPECT_EQ(DescribeAbsentRanks(), "rank 2 is not found on this host");
}

TEST_F(PeerProcessesTest, RanksOnOtherHostsAreNotMissed) {
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "3", 1);
  End(3);
  EXPECT_EQ(DescribeAbsentRanks(), "");
  Stop(0);
  EXPECT_EQ(DescribeAbsentRanks(), "rank 0 is stopped");
}

TEST_F(PeerProcessesTest, WithoutAJobNothingIsKnown) {
  unsetenv("PMIX_NAMESPACE");
  Stop(0);
  EXPECT_EQ(DescribeAbsentRanks(), "");
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "wait") {
    while (true) pause();
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
