#include "tensor/gpu/simulated/happens_before.h"

#include <random>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::gpu {
namespace {

using ::testing::HasSubstr;

std::byte* At(size_t offset) { return reinterpret_cast<std::byte*>(0x10000 + offset); }

Access Rows(size_t begin, size_t bytes, size_t rows, size_t pitch,
            AccessMode mode = AccessMode::kWrite) {
  return {At(begin), bytes, rows, pitch, mode};
}

std::set<const std::byte*> BytesOf(const Access& access) {
  std::set<const std::byte*> bytes;
  for (size_t row = 0; row < access.rows; ++row) {
    for (size_t i = 0; i < access.row_bytes; ++i) {
      bytes.insert(access.begin + row * access.pitch + i);
    }
  }
  return bytes;
}

TEST(OverlapTest, SameAsSetsOfBytes) {
  std::mt19937 random(1);
  const auto draw = [&](size_t most) { return size_t(random()) % most; };
  int overlapping = 0;
  for (int i = 0; i < 20000; ++i) {
    const size_t width_a = 1 + draw(4), width_b = 1 + draw(4);
    const Access a = Rows(draw(30), width_a, 1 + draw(4), width_a + draw(6));
    const Access b = Rows(draw(30), width_b, 1 + draw(4), width_b + draw(6));
    bool expected = false;
    const auto bytes = BytesOf(b);
    for (const std::byte* byte : BytesOf(a)) expected |= bytes.contains(byte);
    ASSERT_EQ(Overlap(a, b), expected)
        << a.begin << " " << a.row_bytes << " " << a.rows << " " << a.pitch << " / " << b.begin
        << " " << b.row_bytes << " " << b.rows << " " << b.pitch;
    overlapping += expected;
  }
  EXPECT_GT(overlapping, 1000);
  EXPECT_LT(overlapping, 19000);
}

TEST(ClockTest, CoversWhatIsNotLaterInAnyStream) {
  Clock one, two;
  EXPECT_TRUE(one.Covers(two));
  two.Tick(2);  // the last stream of all
  EXPECT_FALSE(one.Covers(two));
  EXPECT_TRUE(two.Covers(one));
  one.Tick(0);
  EXPECT_FALSE(two.Covers(one));
  one.Merge(two);
  EXPECT_TRUE(one.Covers(two));
  EXPECT_EQ(one[0], 1u);
  EXPECT_EQ(one[2], 1u);
  EXPECT_EQ(one[7], 0u);
}

// Operations of several streams with clocks, as a simulated GPU keeps them.
class AccessHistoryTest : public ::testing::Test {
 protected:
  absl::Status Run(size_t stream, const char* name, const Access& access) {
    const Clock before = clocks_[stream];
    auto operation = std::make_shared<Operation>(name, stream, clocks_[stream].Tick(stream));
    return history_.Add(operation, before, std::vector<Touch>{{1, "the block", access}});
  }
  void WaitFor(size_t stream, size_t other) { clocks_[stream].Merge(clocks_[other]); }

  static constexpr AccessMode kRead = AccessMode::kRead;
  AccessHistory history_;
  Clock clocks_[3];
};

TEST_F(AccessHistoryTest, AStreamIsOrderedInItself) {
  EXPECT_EQ(Run(0, "a", Rows(0, 8, 1, 8)), absl::OkStatus());
  EXPECT_EQ(Run(0, "b", Rows(0, 8, 1, 8)), absl::OkStatus());
}

TEST_F(AccessHistoryTest, OtherStreamsHaveToWait) {
  EXPECT_EQ(Run(0, "first", Rows(0, 8, 1, 8)), absl::OkStatus());
  const absl::Status status = Run(1, "second", Rows(4, 8, 1, 8, kRead));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("second reads the block, which first writes, and nothing orders the two"));
  EXPECT_EQ(Run(1, "elsewhere", Rows(8, 8, 1, 8)), absl::OkStatus());
  WaitFor(2, 0);
  EXPECT_EQ(Run(2, "waited", Rows(0, 8, 1, 8, kRead)), absl::OkStatus());
}

TEST_F(AccessHistoryTest, ReadsDoNotConflict) {
  EXPECT_EQ(Run(0, "a", Rows(0, 8, 1, 8, kRead)), absl::OkStatus());
  EXPECT_EQ(Run(1, "b", Rows(0, 8, 1, 8, kRead)), absl::OkStatus());
  WaitFor(2, 1);
  const absl::Status status = Run(2, "c", Rows(0, 8, 1, 8));
  EXPECT_THAT(std::string(status.message()), HasSubstr("c writes the block, which a reads"));
}

TEST_F(AccessHistoryTest, OrderIsTransitive) {
  EXPECT_EQ(Run(0, "a", Rows(0, 8, 1, 8)), absl::OkStatus());
  WaitFor(1, 0);
  EXPECT_EQ(Run(1, "b", Rows(0, 8, 1, 8)), absl::OkStatus());
  WaitFor(2, 1);
  EXPECT_EQ(Run(2, "c", Rows(0, 8, 1, 8)), absl::OkStatus());
}

TEST_F(AccessHistoryTest, WhatIsForgottenIsCoveredByWhatStays) {
  EXPECT_EQ(Run(0, "a", Rows(0, 8, 1, 8)), absl::OkStatus());
  WaitFor(1, 0);
  EXPECT_EQ(Run(1, "b", Rows(0, 16, 1, 16)), absl::OkStatus());
  // Not ordered after a, nor after b, which replaced it.
  EXPECT_FALSE(Run(2, "c", Rows(0, 4, 1, 4, kRead)).ok());
}

TEST_F(AccessHistoryTest, KeepsOnlyWhatCanMatter) {
  Clock host;
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(Run(0, "same", Rows(0, 8, 1, 8, kRead)), absl::OkStatus());
    EXPECT_EQ(Run(0, "other", Rows(8 + i, 8, 1, 8, kRead)), absl::OkStatus());
  }
  EXPECT_EQ(history_.size(), 101u);
  host.Merge(clocks_[0]);
  EXPECT_EQ(Run(0, "later", Rows(500, 8, 1, 8)), absl::OkStatus());
  history_.ForgetBefore(host);
  EXPECT_EQ(history_.size(), 1u);
  EXPECT_FALSE(Run(1, "unordered", Rows(500, 1, 1, 1)).ok());
}

TEST_F(AccessHistoryTest, AWriteReplacesWhatItCovers) {
  EXPECT_EQ(Run(0, "a", Rows(0, 8, 1, 8)), absl::OkStatus());
  EXPECT_EQ(Run(0, "b", Rows(8, 8, 1, 8, kRead)), absl::OkStatus());
  EXPECT_EQ(Run(0, "rows", Rows(0, 4, 3, 16)), absl::OkStatus());
  EXPECT_EQ(history_.size(), 3u) << "rows cover no range";
  EXPECT_EQ(Run(0, "the same rows", Rows(0, 4, 3, 16)), absl::OkStatus());
  EXPECT_EQ(history_.size(), 3u);
  EXPECT_EQ(Run(0, "rows of another pitch", Rows(0, 4, 3, 15)), absl::OkStatus());
  EXPECT_EQ(history_.size(), 4u);
  EXPECT_EQ(Run(0, "but for a byte at either end", Rows(1, 34, 1, 34)), absl::OkStatus());
  EXPECT_EQ(history_.size(), 4u);
  EXPECT_EQ(Run(0, "all", Rows(0, 36, 1, 36)), absl::OkStatus());
  EXPECT_EQ(history_.size(), 1u);
}

TEST_F(AccessHistoryTest, ChannelsBetweenEachOtherDoNotConflict) {
  EXPECT_EQ(Run(0, "left", Rows(0, 4, 100, 16)), absl::OkStatus());
  EXPECT_EQ(Run(1, "right", Rows(4, 12, 100, 16)), absl::OkStatus());
  EXPECT_FALSE(Run(2, "both", Rows(3, 2, 100, 16, kRead)).ok());
}

}  // namespace
}  // namespace dtnn::gpu
