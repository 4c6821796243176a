#include <atomic>
#include <cerrno>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

// Bites with --config=tsan alone. The order of the two is known to nobody but the guard of the
// static variable within.
TEST(TsanSuppressionsTest, ThreadsMayAskForTheTextsOfErrors) {
  std::string first;
  std::atomic<bool> asked{false};
  std::thread other([&] {
    first = absl::ErrnoToStatus(ENOENT, "").ToString();
    asked.store(true, std::memory_order_relaxed);
  });
  while (!asked.load(std::memory_order_relaxed)) std::this_thread::yield();
  const std::string second = absl::ErrnoToStatus(ENOENT, "").ToString();
  other.join();
  EXPECT_EQ(second, first);
}

}  // namespace
}  // namespace dtnn
