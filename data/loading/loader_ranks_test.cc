// What the loaders of all ranks of a run give together.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "data/loading/loader.h"
#include "data/loading/split.h"
#include "data/testing/counting_dataset.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::CountingDataset;

std::vector<std::unique_ptr<Loader>> MakeRanks(int64_t n, const std::vector<int64_t>& indices,
                                               LoaderOptions options) {
  const auto dataset = std::make_shared<CountingDataset>(n, ImageExtents{1, 1, 1});
  std::vector<std::unique_ptr<Loader>> loaders;
  for (options.rank = 0; options.rank < options.ranks; ++options.rank) {
    loaders.push_back(Loader::Create(dataset, Split::kTrain, indices, options).value());
  }
  return loaders;
}

// The samples of an epoch in the order of steps and ranks, after checking what holds of every step.
std::vector<int64_t> Visit(const std::vector<std::unique_ptr<Loader>>& loaders, int64_t epoch) {
  std::vector<int64_t> visited;
  for (const auto& loader : loaders) loader->StartEpoch(epoch);
  for (int64_t step = 0;; ++step) {
    int64_t count = 0, expected = 0, ended = 0;
    for (const auto& loader : loaders) {
      const Batch* batch = loader->Next().value();
      if (batch == nullptr) {
        ++ended;
        continue;
      }
      EXPECT_GE(batch->count, 1) << "a rank without work";
      EXPECT_LE(batch->count, loader->max_batch());
      EXPECT_TRUE(expected == 0 || expected == batch->global_count) << "ranks disagree";
      expected = batch->global_count;
      count += batch->count;
      const int32_t* labels = batch->targets.data<int32_t>();
      visited.insert(visited.end(), labels, labels + batch->count);
    }
    EXPECT_EQ(count, expected) << "a mean over the step would divide by another number";
    EXPECT_TRUE(ended == 0 || ended == int64_t(loaders.size())) << "epochs of unequal length";
    if (ended > 0) {
      for (const auto& loader : loaders) EXPECT_EQ(loader->steps(), step);
      return visited;
    }
    EXPECT_EQ(loaders[0]->SamplesBefore(step + 1), int64_t(visited.size()));
  }
}

// Sizes that divide nothing: primes, and one more and less than what would come out even.
TEST(LoaderRanksTest, EveryEpochVisitsEverySampleOnce) {
  for (const int64_t n : {7, 13, 59, 60, 61, 97, 211, 509}) {
    for (const int ranks : {1, 2, 3, 4, 5, 7}) {
      for (const int64_t batch : {1, 3, 4, 15, 64}) {
        SCOPED_TRACE(::testing::Message()
                     << n << " samples, batch " << batch << ", " << ranks << " ranks");
        const int threads = 1 + int(n + batch) % 2, prefetch = int(n + batch + ranks) % 3;
        const auto loaders = MakeRanks(
            n, AllIndices(n),
            {.batch = batch, .ranks = ranks, .seed = 5, .prefetch = prefetch, .threads = threads});
        std::vector<int64_t> first;
        for (const int64_t epoch : {0, 1}) {
          std::vector<int64_t> visited = Visit(loaders, epoch);
          EXPECT_TRUE(n <= 13 || visited != first) << "epochs in one order";
          first = visited;
          std::sort(visited.begin(), visited.end());
          EXPECT_EQ(visited, AllIndices(n));
        }
      }
    }
  }
}

TEST(LoaderRanksTest, TrainingAndValidationTogetherAreTheWholeSet) {
  for (const int64_t n : {31, 100, 257}) {
    for (const double held_out : {0.1, 0.29, 0.5}) {
      for (const int ranks : {1, 2, 3}) {
        const TrainValidation divided = SplitIndices(n, held_out, 9).value();
        std::vector<int64_t> all =
            Visit(MakeRanks(n, divided.train, {.batch = 4, .ranks = ranks}), 0);
        const std::vector<int64_t> validation = Visit(
            MakeRanks(n, divided.validation, {.batch = 4, .ranks = ranks, .shuffle = false}), 0);
        all.insert(all.end(), validation.begin(), validation.end());
        std::sort(all.begin(), all.end());
        EXPECT_EQ(all, AllIndices(n)) << held_out << " of " << n << " on " << ranks << " ranks";
      }
    }
  }
}

// The same steps of 12 samples, however ranks divide them: losses do not depend on the ranks.
TEST(LoaderRanksTest, StepsAreTheSameOnAnyNumberOfRanks) {
  const auto steps = [](int ranks) {
    return Visit(MakeRanks(103, AllIndices(103), {.batch = 12 / ranks, .ranks = ranks, .seed = 2}),
                 3);
  };
  const std::vector<int64_t> one = steps(1);
  for (const int ranks : {2, 3, 4, 6, 12}) EXPECT_EQ(steps(ranks), one) << ranks << " ranks";
}

}  // namespace
}  // namespace dtnn
