#include "models/callbacks/stop_on_signal.h"

#include <csignal>
#include <cstdint>
#include <string>

#include "comm/local.h"
#include "comm/ranks/job/interrupt.h"
#include "gtest/gtest.h"
#include "models/testing/training_session.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

using ::dtnn::testing::PatternMlp;
using ::dtnn::testing::SessionOptions;
using ::dtnn::testing::TrainingSession;

SessionOptions OptionsOf(Communicator& communicator) {
  SessionOptions options;
  options.training.communicator = &communicator;
  options.loading.rank = communicator.rank();
  options.loading.ranks = communicator.size();
  return options;
}

// All stop after the same step, and nobody waits for anybody afterwards: ranks pause to end their
// communicator.
TEST(StopOnSignalTest, RanksPauseWhereOneOfThemHasAReason) {
  const Interrupt interrupt;
  int64_t steps[2] = {};
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    const int rank = communicator.rank();
    TrainingSession session(PatternMlp(), OptionsOf(communicator));
    StopOnSignal stop(interrupt, *session.trainer, nullptr, &communicator, /*every=*/2,
                      [&] { return rank == 1 && session.trainer->steps_done() >= 3; });
    DTNN_RETURN_IF_ERROR(session.Train(100, {&stop}));
    EXPECT_TRUE(stop.paused());
    EXPECT_EQ(stop.signal(), 0);
    steps[rank] = session.trainer->steps_done();
    return rank == 0 ? stop.Finish() : absl::OkStatus();
  });
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(steps[0], steps[1]);
  EXPECT_GE(steps[0], 3);
  EXPECT_LE(steps[0], 3 + 2 * 2);
}

TEST(StopOnSignalTest, ASignalAfterTheLastStepIsThatOfAllRanks) {
  const Interrupt interrupt;
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    TrainingSession session(PatternMlp(), OptionsOf(communicator));
    StopOnSignal stop(interrupt, *session.trainer, nullptr, &communicator);
    DTNN_RETURN_IF_ERROR(session.Train(1, {&stop}));
    EXPECT_EQ(stop.signal(), 0);
    DTNN_RETURN_IF_ERROR(communicator.Barrier());
    if (communicator.rank() == 1) raise(SIGTERM);
    DTNN_RETURN_IF_ERROR(stop.Finish());
    EXPECT_EQ(stop.signal(), SIGTERM);
    EXPECT_FALSE(stop.paused());
    return absl::OkStatus();
  });
  EXPECT_EQ(status, absl::OkStatus());
}

}  // namespace
}  // namespace dtnn
