#include "tensor/threads/waitable_word.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
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

bool Sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const size_t name_end = text.rfind(") ");
  return name_end != text.npos && text[name_end + 2] == 'S';
}

TEST(WaitableWordTest, SleepersWakeWhenTheWordChangesAndReadWhatWasWrittenBefore) {
  WaitableWord word;
  constexpr int kThreads = 3;
  int written = 0;
  std::vector<std::atomic<pid_t>> ids(kThreads);
  std::vector<int> seen(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      ids[size_t(i)] = gettid();
      EXPECT_EQ(word.SleepWhile(0), 7u);
      seen[size_t(i)] = written;
    });
  }
  // A thread that does not sleep never gets there; then the test times out.
  for (const auto& id : ids) {
    while (id == 0 || !Sleeps(id)) syscall(SYS_sched_yield);
  }
  word.Wake();  // without a change nobody stops waiting
  written = 5;
  word.FetchAdd(7);
  word.Wake();
  for (std::thread& thread : threads) thread.join();
  for (int value : seen) EXPECT_EQ(value, 5);
}

TEST(WaitableWordTest, NobodySleepsWhileTheWordIsAnother) {
  WaitableWord word;
  word.Store(3, std::memory_order_release);
  EXPECT_EQ(word.SleepWhile(2), 3u);
}

// Two threads hand the word to and fro: a wake-up that is lost leaves both asleep.
TEST(WaitableWordTest, NoWakeUpIsLost) {
  WaitableWord word;
  constexpr uint32_t kTurns = 20000;
  const auto play = [&](uint32_t parity) {
    for (uint32_t turn = parity; turn < kTurns; turn += 2) {
      for (uint32_t now; (now = word.Load(std::memory_order_acquire)) != turn;) {
        word.SleepWhile(now);
      }
      word.FetchAdd(1);
      word.Wake();
    }
  };
  std::thread other([&] { play(1); });
  play(0);
  other.join();
  EXPECT_EQ(word.Load(std::memory_order_relaxed), kTurns);
}

// A thread that yields loses the rest of its time slice, which a busy machine does not give back.
TEST(WaitableWordTest, WaitingYieldsToNobody) {
  yields = 0;
  WaitableWord word;
  std::atomic<pid_t> id{0};
  std::thread sleeper([&] {
    id = gettid();
    word.SleepWhile(0);
  });
  while (id == 0 || !Sleeps(id)) syscall(SYS_sched_yield);
  word.FetchAdd(1);
  word.Wake();
  sleeper.join();
  EXPECT_EQ(yields, 0);
}

}  // namespace
}  // namespace dtnn
