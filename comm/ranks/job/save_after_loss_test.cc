#include "comm/ranks/job/save_after_loss.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "comm/local.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

struct Outcome {
  std::vector<int> writers;       // in the order in which they wrote
  std::vector<bool> found_saved;  // by rank
};

// Five ranks, of which rank 0 has given up. Those of `gone` leave without a word.
Outcome Save(const std::vector<int>& gone, bool disk_is_full = false) {
  constexpr int kRanks = 5;
  std::vector<std::unique_ptr<Communicator>> ranks = *LocalGroup::Create(kRanks);
  ranks[0]->Abort(absl::DataLossError("x"));
  std::vector<std::atomic<int>> wrote(kRanks);
  std::atomic<int> count = 0;
  Outcome outcome;
  outcome.found_saved.resize(kRanks);
  std::vector<std::atomic<bool>> saved(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 1; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank, mine = std::move(ranks[size_t(rank)])]() mutable {
      if (std::ranges::count(gone, rank) == 0) {
        saved[size_t(rank)] = SaveAfterLoss(*mine, [&] {
          wrote[size_t(rank)] = ++count;
          return !disk_is_full;
        });
      }
      mine = nullptr;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int turn = 1; turn <= count; ++turn) {
    for (int rank = 0; rank < kRanks; ++rank) {
      if (wrote[size_t(rank)] == turn) outcome.writers.push_back(rank);
    }
  }
  for (int rank = 0; rank < kRanks; ++rank) outcome.found_saved[size_t(rank)] = saved[size_t(rank)];
  return outcome;
}

TEST(SaveAfterLossTest, TheLowestRankLeftSavesForAll) {
  const Outcome outcome = Save({});
  EXPECT_EQ(outcome.writers, std::vector<int>{1});
  EXPECT_EQ(outcome.found_saved, std::vector<bool>({false, true, true, true, true}));
}

TEST(SaveAfterLossTest, WhoIsGoneWithoutAWordIsReplaced) {
  const Outcome outcome = Save({1, 2});
  EXPECT_EQ(outcome.writers, std::vector<int>{3});
  EXPECT_EQ(outcome.found_saved, std::vector<bool>({false, false, false, true, true}));
}

TEST(SaveAfterLossTest, WhereNothingCouldBeSavedAllKnow) {
  const Outcome outcome = Save({}, /*disk_is_full=*/true);
  EXPECT_EQ(outcome.writers, std::vector<int>{1}) << "the others' disk is as full";
  EXPECT_EQ(outcome.found_saved, std::vector<bool>(5, false));
}

}  // namespace
}  // namespace dtnn
