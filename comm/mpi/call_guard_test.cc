#include "comm/mpi/call_guard.h"

#include <pthread.h>

#include <atomic>
#include <optional>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

using std::chrono::milliseconds;

// What Open MPI does when a connection breaks.
int LockTwice() {
  static pthread_mutex_t mutex;
  mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  return pthread_mutex_lock(&mutex);
}

// The thread sanitizer hands a signal over when the thread next calls the system, not before.
#ifdef __SANITIZE_THREAD__
#define DTNN_SKIP_IF_SIGNALS_WAIT() GTEST_SKIP() << "signals do not reach a thread that hangs"
#else
#define DTNN_SKIP_IF_SIGNALS_WAIT() (void)0
#endif

TEST(CallGuardTest, ACallThatReturnsGivesItsCode) {
  CallGuard guard;
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(guard.Call([&] { return i; }), i);
  EXPECT_FALSE(guard.stuck());
}

TEST(CallGuardTest, ACallThatNeverReturnsIsLeftAndNoneFollows) {
  DTNN_SKIP_IF_SIGNALS_WAIT();
  CallGuard guard;
  const CommunicatorOptions options;
  const CallGuard::Watch patient(guard, options, options.timeout);
  const CallGuard::Watch impatient(guard, options, milliseconds(300));
  EXPECT_EQ(guard.Call([] { return LockTwice(); }), kMpiStuck);
  EXPECT_TRUE(guard.stuck());
  bool called = false;
  EXPECT_EQ(guard.Call([&] {
    called = true;
    return 0;
  }),
            kMpiStuck);
  EXPECT_FALSE(called);
}

TEST(CallGuardTest, ABusyLoopOnAnotherThreadIsLeft) {
  DTNN_SKIP_IF_SIGNALS_WAIT();
  CallGuard guard;
  const CommunicatorOptions options;
  const CallGuard::Watch watch(guard, options, milliseconds(300));
  std::atomic<bool> always{true};
  int code = 0;
  std::thread other([&] {
    code = guard.Call([&] {
      while (always) continue;
      return 0;
    });
  });
  other.join();
  EXPECT_EQ(code, kMpiStuck);
}

TEST(CallGuardTest, AnInterruptionEndsACallThatHangs) {
  DTNN_SKIP_IF_SIGNALS_WAIT();
  CallGuard guard;
  CommunicatorOptions options;
  options.interrupted = [] { return true; };
  options.grace = milliseconds(100);
  const CallGuard::Watch watch(guard, options, options.timeout);
  EXPECT_EQ(guard.Call([] { return LockTwice(); }), kMpiStuck);
}

TEST(CallGuardTest, ManyQuickCallsAreNotTakenForOne) {
  CallGuard guard;
  const CommunicatorOptions options;
  std::optional<CallGuard::Watch> watch;
  watch.emplace(guard, options, milliseconds(300));
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < begin + milliseconds(1000)) {
    ASSERT_EQ(guard.Call([] { return 0; }), 0);
  }
  watch.reset();
  EXPECT_FALSE(guard.stuck());
}

}  // namespace
}  // namespace dtnn
