#include "comm/clock_offset.h"

#include <cstdlib>

#include "comm/local.h"
#include "gtest/gtest.h"
#include "tensor/status_macros.h"
#include "tensor/trace/observer.h"

namespace dtnn {
namespace {

TEST(ClockOffsetTest, WithoutAMeasurementTimesStay) {
  EXPECT_EQ(ClockOffset().ToRankZero(123), 123);
}

TEST(ClockOffsetTest, RanksOfOneHostShareTheirClock) {
  const absl::Status status = RunRanks(3, [](Communicator& communicator) {
    ClockOffset offset;
    DTNN_RETURN_IF_ERROR(offset.Measure(
        communicator, [&] { return TraceClock() + communicator.rank() * int64_t{1'000'000'000}; }));
    EXPECT_EQ(offset.ToRankZero(5), 5);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

// Every look at a clock takes 10: an answer is 10 after its question, so its middle is at most 5
// off.
TEST(ClockOffsetTest, TheUncertaintyIsHalfOfTheShortestExchange) {
  const absl::Status status = RunRanks(2, [](Communicator& communicator) {
    int64_t now = 1000;
    ClockOffset offset;
    DTNN_RETURN_IF_ERROR(offset.Measure(
        communicator, [&] { return now += 10; }, /*same_host=*/false));
    EXPECT_EQ(offset.uncertainty(), communicator.rank() == 0 ? 0 : 5);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

// Clocks that are seconds apart, and one that runs faster by a tenth.
TEST(ClockOffsetTest, OffsetsAndDriftsAreFound) {
  const absl::Status status = RunRanks(3, [](Communicator& communicator) {
    const int64_t start = TraceClock();
    const auto clock_at = [&](int64_t true_time) {
      const int rank = communicator.rank();
      if (rank == 0) return true_time;
      if (rank == 1) return true_time - 7'000'000'000;
      return true_time + 3'000'000'000 + (true_time - start) / 10;
    };
    const auto clock = [&] { return clock_at(TraceClock()); };
    ClockOffset offset;
    DTNN_RETURN_IF_ERROR(offset.Measure(communicator, clock, /*same_host=*/false));
    // What would be measured: something between the two, and something after both.
    const int64_t event = TraceClock();
    while (TraceClock() < event + 20'000'000) {
    }
    DTNN_RETURN_IF_ERROR(offset.Measure(communicator, clock, /*same_host=*/false));
    const int64_t tolerance = 2 * offset.uncertainty() + 1000;
    EXPECT_LE(std::abs(offset.ToRankZero(clock_at(event)) - event), tolerance);
    const int64_t later = event + 10'000'000;
    EXPECT_LE(std::abs(offset.ToRankZero(clock_at(later)) - later), tolerance);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace dtnn
