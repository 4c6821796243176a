#include "tensor/threads/thread_team.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace {
std::atomic<int> yields{0};
}  // namespace

// Takes the place of the C library's, for all code of this program.
extern "C" int sched_yield() noexcept {
  ++yields;
  return int(syscall(SYS_sched_yield));
}

namespace dtnn {
namespace {

TEST(ThreadTeamTest, RunsEveryChunkOfEveryShareOnce) {
  ThreadTeam team;
  for (int threads : {1, 2, 5, 3}) {  // growing, then fewer than there are
    for (int chunks : {1, 2, 7}) {
      for (int repeat = 0; repeat < 50; ++repeat) {
        std::vector<std::atomic<int>> calls(size_t(threads * chunks));
        team.Run(threads, chunks, [&](int thread, int share, int chunk) {
          EXPECT_LT(thread, threads);
          ++calls[size_t(share * chunks + chunk)];
        });
        for (const auto& count : calls) ASSERT_EQ(count, 1) << threads << " x " << chunks;
      }
    }
  }
}

// What a job writes without synchronisation of its own is there when Run returns, and what its
// caller wrote before is there in the job.
TEST(ThreadTeamTest, JobsFollowOneAnother) {
  ThreadTeam team;
  std::vector<int64_t> sums(4, 0);
  for (int64_t step = 1; step <= 2000; ++step) {
    const int64_t before = sums[0];
    team.Run(4, 1, [&](int, int share, int) { sums[size_t(share)] = before + step; });
  }
  for (int64_t sum : sums) EXPECT_EQ(sum, 2000 * 2001 / 2);
}

// A thread that is held up keeps one chunk; all others are done meanwhile.
TEST(ThreadTeamTest, NobodyWaitsForChunksThatAreNotBegun) {
  ThreadTeam team;
  constexpr int kChunks = 8;
  std::atomic<int> done{0};
  team.Run(2, kChunks, [&](int thread, int, int) {
    while (thread == 1 && done < 2 * kChunks - 1) std::this_thread::yield();
    ++done;
  });
  EXPECT_EQ(done, 2 * kChunks);
}

// The states of the threads of this process but the calling one, as /proc tells them: R running or
// ready to, S asleep.
std::string StatesOfOthers() {
  std::string states;
  const std::string self = std::to_string(gettid());
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == self) continue;
    std::ifstream file(task.path() / "stat");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const size_t name_end = text.rfind(") ");
    if (name_end != text.npos) states += text[name_end + 2];
  }
  return states;
}

// Without a yield before it, which would cost a worker its time slice on a busy machine.
TEST(ThreadTeamTest, WorkersSleepWhenThereIsNothingToDo) {
  yields = 0;
  ThreadTeam team;
  team.Run(4, 1, [](int, int, int) {});
  // Workers that spin for good never do; then the test times out.
  while (StatesOfOthers().find_first_not_of('S') != std::string::npos) syscall(SYS_sched_yield);
  EXPECT_GE(StatesOfOthers().size(), 3u);
  EXPECT_EQ(yields, 0);
}

TEST(ThreadTeamTest, GoesOnWithoutTheWorkersThatTheSystemRefuses) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer cannot live without address space";
#endif
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // No address space for a thread's stack.
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = size_t{1} << 20;
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
    ThreadTeam team;
    std::atomic<int> done{0};
    team.Run(8, 4, [&](int, int, int) { ++done; });
    _exit(done == 32 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace dtnn
