#include "comm/descriptors/wakeup.h"

#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/testing/descriptors.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

bool IsReadable(const Wakeup& wakeup) {
  pollfd descriptor = {wakeup.descriptor(), POLLIN, 0};
  return poll(&descriptor, 1, 0) == 1;
}

TEST(WakeupTest, IsReadableFromWakeToDrain) {
  Wakeup first;
  EXPECT_EQ(first.status(), absl::OkStatus());
  first.Wake();
  const Wakeup wakeup = std::move(first);
  EXPECT_TRUE(IsReadable(wakeup));
  wakeup.Wake();
  wakeup.Drain();
  EXPECT_FALSE(IsReadable(wakeup));
  wakeup.Drain();  // does not block
  wakeup.Wake();
  EXPECT_TRUE(IsReadable(wakeup));
}

TEST(WakeupTest, ClosesItsDescriptorOnce) {
  const int64_t before = testing::OpenDescriptors();
  {
    Wakeup first;
    const Wakeup second = std::move(first);
    EXPECT_EQ(testing::OpenDescriptors(), before + 1);
  }
  EXPECT_EQ(testing::OpenDescriptors(), before);
}

TEST(WakeupTest, WhereNoMoreFilesCanBeOpenedItSaysSo) {
  std::optional<testing::NoNewDescriptors> none(std::in_place);
  const Wakeup wakeup;
  none.reset();
  EXPECT_EQ(wakeup.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(wakeup.status().message()),
              AllOf(HasSubstr("Too many open files"), HasSubstr("ulimit -n")));
}

}  // namespace
}  // namespace dtnn
