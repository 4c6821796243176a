#include "models/run/simulation/simulated_clients.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/run/objects/run_log.h"
#include "tensor/must.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

class SimulatedClientsTest : public ::testing::Test {
 protected:
  SimulatedClientsTest() : run_(Small(), {}), log_(run_.options, 0, 1, {}) {
    Must(run_.Prepare(log_));
    SetNumThreads(4);
  }

  static RunOptions Small() {
    RunOptions options;
    options.network.name = "simplemlp";
    options.data.name = "synthetic";
    options.data.synthetic.train_samples = 50;
    options.data.synthetic.test_samples = 20;
    options.data.synthetic.input_shape = {1, 4, 4};
    options.data.synthetic.output_shape = {3};
    options.data.validation_split = 0;
    options.training.batch = 5;
    options.training.evaluate = true;
    return options;
  }

  absl::Status Create(int64_t most_at_once, int64_t bytes, double round_bytes = 0) {
    return SimulatedClients::Create(run_, {{0, 1, 2, 3, 4, 5, 6}, {7, 8, 9}}, most_at_once,
                                    [=](int) { return round_bytes; }, {.bytes = bytes})
        .status();
  }

  PreparedRun run_;
  RunLog log_;
};

TEST_F(SimulatedClientsTest, EveryThreadTakesMemory) {
  // The least that one thread takes, to a KiB.
  int64_t one = 0;
  while (!Create(1, one).ok()) one += 1024;
  ASSERT_GT(one, 4096);
  EXPECT_TRUE(Create(4, 4 * one).ok());
  EXPECT_FALSE(Create(1, one, 1024).ok()) << "what the round holds besides";
  const absl::Status status = Create(4, 2 * one);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("batches of 5 samples takes "));
  EXPECT_THAT(std::string(status.message()), HasSubstr(" on each of 4 threads, "));
}

}  // namespace
}  // namespace dtnn
