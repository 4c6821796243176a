#include "apps/simulate/simulation_memory.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

class SimulationMemoryTest : public ::testing::Test {
 protected:
  SimulationMemoryTest() {
    flags_.clients = 50;
    flags_.clients_per_round = 7;
    flags_.rounds.rounds = 4;
  }
  // In numbers of 4 bytes.
  double Numbers(int threads = 1, size_t local_values = 0) const {
    return BytesOfRounds(flags_, {.values = 1000, .trainable = 900}, local_values, threads) / 4;
  }

  SimulateFlags flags_;
};

TEST_F(SimulationMemoryTest, EveryThreadHasUpdates) {
  const double one = Numbers();
  EXPECT_EQ(Numbers(3) - one, 2 * 2 * 1000);
  flags_.liars = 0.2;
  EXPECT_EQ(Numbers() - one, 2 * 1000);
  EXPECT_EQ(Numbers(3) - Numbers(), 2 * 4 * 1000);
  flags_.liars = 0;
  flags_.rounds.robust = "median";
  EXPECT_EQ(Numbers() - one, 7 * 1000) << "all of a round";
}

// 7 clients at a time.
TEST_F(SimulationMemoryTest, ABufferKeepsParametersOfEarlierRounds) {
  const double one = Numbers();
  flags_.rounds.buffer_size = 3;
  EXPECT_EQ(Numbers() - one, (7 + 1) * 1000);
  flags_.rounds.max_staleness = 2;
  EXPECT_EQ(Numbers() - one, (3 + 1) * 1000);
  flags_.rounds.robust = "median";
  EXPECT_EQ(Numbers() - one, (3 + 1 + 3) * 1000) << "the updates of a round";
}

TEST_F(SimulationMemoryTest, StrategiesKeepMomentsOfTrainableNumbers) {
  flags_.rounds.strategy = "fednova";
  const double none = Numbers();
  EXPECT_EQ(none, (2 + 7) * 1000);
  flags_.rounds.strategy = "fedavgm";
  EXPECT_EQ(Numbers() - none, 900);
  flags_.rounds.strategy = "fedyogi";
  EXPECT_EQ(Numbers() - none, 2 * 900);
}

TEST_F(SimulationMemoryTest, ClientsThatMayBeAskedKeepTheirOwnTwice) {
  const double none = Numbers();
  EXPECT_EQ(Numbers(1, 10) - none, (2 * 4 * 7 + 1) * 10 + 1000) << "and what one sends, copied";
  flags_.rounds.compression = "top-k:0.1";
  EXPECT_EQ(Numbers(1, 10) - none, (2 * 4 * 7 + 1) * (10 + 900) + 3 * 1000)
      << "what they have not sent too, and a thread compresses";
  EXPECT_EQ(Numbers(3) - Numbers(1), 2 * 5 * 1000);
  flags_.rounds.compression = "none";
  flags_.rounds.rounds = 1'000'000'000;
  EXPECT_EQ(Numbers(1, 10) - none, (2 * 50 + 1) * 10 + 1000) << "all of them";
  flags_.run.checkpoint.folder = "a";
  EXPECT_EQ(Numbers(1, 10) - none, (3 * 50 + 1) * 10 + 1000) << "and what is written";
}

}  // namespace
}  // namespace dtnn
