#include "data/loading/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "data/testing/philox_words.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::PhiloxWords;

std::vector<int64_t> Iota(int64_t n, int64_t first = 0) {
  std::vector<int64_t> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

std::vector<Sampler> AllRanks(std::vector<int64_t> indices, SamplerOptions options) {
  std::vector<Sampler> samplers;
  for (options.rank = 0; options.rank < options.ranks; ++options.rank) {
    samplers.push_back(Sampler::Create(indices, options).value());
  }
  return samplers;
}

std::vector<int64_t> StepIndices(const Sampler& sampler, int64_t step) {
  const Sampler::Slice slice = sampler.StepSlice(step);
  std::vector<int64_t> indices(slice.count);
  sampler.Indices(slice, indices);
  return indices;
}

// What all ranks together visit, in the order of step and rank; checks what holds for every epoch.
// `skipped`: samples that they leave out.
std::vector<int64_t> Epoch(std::vector<Sampler>& samplers, int64_t epoch, int64_t skipped = 0) {
  for (Sampler& sampler : samplers) sampler.StartEpoch(epoch);
  std::vector<int64_t> visited;
  int64_t largest = 0;
  for (int64_t step = 0; step < samplers[0].steps(); ++step) {
    const int64_t global_count = samplers[0].StepSlice(step).global_count;
    EXPECT_EQ(samplers[0].SamplesBefore(step), skipped + int64_t(visited.size()));
    int64_t sum = 0, previous = std::numeric_limits<int64_t>::max();
    for (Sampler& sampler : samplers) {
      const Sampler::Slice slice = sampler.StepSlice(step);
      EXPECT_EQ(slice.global_count, global_count);
      EXPECT_EQ(slice.begin, skipped + int64_t(visited.size()));
      EXPECT_GE(slice.count, 1);
      EXPECT_LE(slice.count, previous) << "a higher rank has more";
      previous = slice.count;
      sum += slice.count;
      largest = std::max(largest, slice.count);
      for (int64_t index : StepIndices(sampler, step)) visited.push_back(index);
    }
    EXPECT_LE(samplers.front().StepSlice(step).count - samplers.back().StepSlice(step).count, 1);
    EXPECT_EQ(sum, global_count);
  }
  for (const Sampler& sampler : samplers) {
    EXPECT_EQ(sampler.steps(), samplers[0].steps());
    EXPECT_EQ(sampler.max_batch(), largest);
    EXPECT_EQ(sampler.samples(), skipped + int64_t(visited.size()));
    EXPECT_EQ(sampler.SamplesBefore(sampler.steps()), sampler.samples());
  }
  return visited;
}

TEST(SamplerTest, EveryEpochVisitsEverySampleOnce) {
  for (int ranks : {1, 2, 3, 12}) {
    for (int64_t batch : {1, 2, 5, 64}) {
      for (int64_t n : {12, 13, 23, 24, 25, 100, 769, 1000}) {
        for (bool shuffle : {false, true}) {
          SCOPED_TRACE(::testing::Message()
                       << n << " samples, batch " << batch << ", " << ranks << " ranks");
          std::vector<Sampler> samplers =
              AllRanks(Iota(n, 7), {.batch = batch, .ranks = ranks, .shuffle = shuffle});
          for (int64_t epoch : {0, 1}) {
            std::vector<int64_t> visited = Epoch(samplers, epoch);
            EXPECT_TRUE(shuffle || visited == Iota(n, 7));
            std::sort(visited.begin(), visited.end());
            EXPECT_EQ(visited, Iota(n, 7));
          }
        }
      }
    }
  }
}

TEST(SamplerTest, LastStepIsDividedEvenly) {
  std::vector<Sampler> samplers = AllRanks(Iota(48000), {.batch = 64, .ranks = 12});
  EXPECT_EQ(samplers[0].steps(), 63);
  EXPECT_EQ(samplers[0].max_batch(), 64);
  for (const Sampler& sampler : samplers) {
    for (int64_t step = 0; step < 62; ++step) {
      EXPECT_EQ(sampler.StepSlice(step).count, 64);
      EXPECT_EQ(sampler.StepSlice(step).global_count, 768);
    }
    EXPECT_EQ(sampler.StepSlice(62).count, 32);
    EXPECT_EQ(sampler.StepSlice(62).global_count, 384);
  }
}

TEST(SamplerTest, LowerRanksGetOneMore) {
  std::vector<Sampler> samplers = AllRanks(Iota(12 + 8), {.batch = 4, .ranks = 3});
  ASSERT_EQ(samplers[0].steps(), 2);
  EXPECT_EQ(samplers[0].StepSlice(1).count, 3);
  EXPECT_EQ(samplers[1].StepSlice(1).count, 3);
  EXPECT_EQ(samplers[2].StepSlice(1).count, 2);
}

TEST(SamplerTest, TooFewForAStepJoinTheStepBefore) {
  std::vector<Sampler> samplers = AllRanks(Iota(24 + 2), {.batch = 4, .ranks = 3});
  ASSERT_EQ(samplers[0].steps(), 2);
  EXPECT_EQ(samplers[0].max_batch(), 5);
  EXPECT_EQ(samplers[0].StepSlice(0).count, 4);
  EXPECT_EQ(samplers[0].StepSlice(1).count, 5);
  EXPECT_EQ(samplers[1].StepSlice(1).count, 5);
  EXPECT_EQ(samplers[2].StepSlice(1).count, 4);
  EXPECT_EQ(samplers[2].StepSlice(1).global_count, 14);
}

TEST(SamplerTest, AStepDoesNotDependOnTheNumberOfRanks) {
  // The same global batch of 12: equal sets of samples in every step.
  std::vector<Sampler> one = AllRanks(Iota(100), {.batch = 12, .ranks = 1, .seed = 5});
  std::vector<Sampler> three = AllRanks(Iota(100), {.batch = 4, .ranks = 3, .seed = 5});
  EXPECT_EQ(Epoch(one, 3), Epoch(three, 3));
}

TEST(SamplerTest, OrderDependsOnSeedAndEpochOnly) {
  const SamplerOptions options = {.batch = 10, .seed = 1};
  std::vector<Sampler> first = AllRanks(Iota(100), options), second = AllRanks(Iota(100), options);
  const std::vector<int64_t> epoch0 = Epoch(first, 0), epoch1 = Epoch(first, 1);
  EXPECT_NE(epoch0, epoch1);
  EXPECT_EQ(Epoch(second, 1), epoch1) << "an epoch depends on those before it";
  EXPECT_EQ(Epoch(first, 0), epoch0);
  std::vector<Sampler> other = AllRanks(Iota(100), {.batch = 10, .seed = 2});
  EXPECT_NE(Epoch(other, 0), epoch0);
}

// A run that resumes with the next version visits the samples that it would have visited.
TEST(SamplerTest, OrdersStayWhatTheyAre) {
  std::vector<Sampler> ranks = AllRanks(Iota(12), {.batch = 5, .seed = 3});
  EXPECT_EQ(Epoch(ranks, 0), (std::vector<int64_t>{7, 2, 11, 10, 5, 6, 4, 0, 9, 8, 1, 3}));
  EXPECT_EQ(Epoch(ranks, 2), (std::vector<int64_t>{4, 8, 11, 5, 6, 0, 3, 10, 1, 9, 2, 7}));
  SamplerOptions grouped = {.batch = 5, .seed = 3};
  grouped.groups = {0, 4, 8};
  for (const auto& [at_once, order] :
       {std::pair<int64_t, std::vector<int64_t>>{1, {2, 1, 3, 0, 11, 8, 10, 9, 5, 6, 7, 4}},
        {2, {2, 8, 3, 9, 11, 10, 0, 1, 7, 4, 6, 5}}}) {
    grouped.groups_at_once = at_once;
    std::vector<Sampler> groups = AllRanks(Iota(12), grouped);
    EXPECT_EQ(Epoch(groups, 1), order) << at_once;
  }
}

TEST(SamplerTest, StepsPerEpochTrims) {
  std::vector<Sampler> samplers =
      AllRanks(Iota(100), {.batch = 4, .ranks = 2, .steps_per_epoch = 3});
  std::vector<int64_t> all;
  for (int64_t epoch = 0; epoch < 60; ++epoch) {
    std::vector<int64_t> visited = Epoch(samplers, epoch);
    ASSERT_EQ(visited.size(), 24u);
    std::sort(visited.begin(), visited.end());
    EXPECT_EQ(std::unique(visited.begin(), visited.end()), visited.end());
    all.insert(all.end(), visited.begin(), visited.end());
  }
  // Each epoch draws from the whole data: after 60 of them no sample is left out.
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  EXPECT_EQ(all, Iota(100));
}

TEST(SamplerTest, StepsPerEpochRepeats) {
  std::vector<Sampler> samplers =
      AllRanks(Iota(5), {.batch = 3, .ranks = 2, .shuffle = false, .steps_per_epoch = 2});
  EXPECT_EQ(Epoch(samplers, 0), (std::vector<int64_t>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1}));
  std::vector<Sampler> shuffled = AllRanks(Iota(5), {.batch = 3, .ranks = 2, .steps_per_epoch = 5});
  std::vector<int64_t> visited = Epoch(shuffled, 4);
  for (int64_t index = 0; index < 5; ++index) {
    EXPECT_EQ(std::count(visited.begin(), visited.end(), index), 6);
  }
}

TEST(SamplerTest, AnEpochGoesOnWithOtherRanks) {
  std::vector<Sampler> two = AllRanks(Iota(101), {.batch = 8, .ranks = 2, .seed = 3});
  const std::vector<int64_t> whole = Epoch(two, 1);
  for (const int64_t done : {0, 16, 48, 96}) {
    for (int ranks = 1; ranks <= 4; ++ranks) {
      for (const int64_t batch : {1, 5, 24}) {
        std::vector<Sampler> others =
            AllRanks(Iota(101), {.batch = batch, .ranks = ranks, .seed = 3});
        for (Sampler& sampler : others) ASSERT_EQ(absl::OkStatus(), sampler.Skip(done));
        EXPECT_EQ(Epoch(others, 1, done), std::vector<int64_t>(whole.begin() + done, whole.end()))
            << done << " done, " << ranks << " ranks, batches of " << batch;
      }
    }
  }
}

TEST(SamplerTest, SkipsOnlyWhatLeavesWholeRanks) {
  Sampler sampler = *Sampler::Create(Iota(10), {.batch = 2, .rank = 0, .ranks = 3});
  EXPECT_FALSE(sampler.Skip(-1).ok());
  EXPECT_FALSE(sampler.Skip(11).ok());
  EXPECT_FALSE(sampler.Skip(8).ok());
  EXPECT_EQ(sampler.steps(), 2);
  EXPECT_EQ(absl::OkStatus(), sampler.Skip(10));
  EXPECT_EQ(sampler.steps(), 0);
  EXPECT_EQ(absl::OkStatus(), sampler.Skip(0));
  EXPECT_EQ(sampler.steps(), 2);
  Sampler trimmed = *Sampler::Create(Iota(10), {.batch = 2, .steps_per_epoch = 2});
  EXPECT_FALSE(trimmed.Skip(1).ok());
  EXPECT_EQ(absl::OkStatus(), trimmed.Skip(0));
}

TEST(SamplerTest, NoSamplesMakeNoSteps) {
  for (int64_t steps_per_epoch : {0, 4}) {
    const Sampler sampler =
        Sampler::Create({}, {.ranks = 3, .steps_per_epoch = steps_per_epoch}).value();
    EXPECT_EQ(sampler.steps(), 0);
    EXPECT_EQ(sampler.samples(), 0);
    EXPECT_EQ(sampler.max_batch(), 0);
  }
}

TEST(SamplerTest, RefusesNonsense) {
  const auto refused = [](int64_t n, const SamplerOptions& options) {
    return Sampler::Create(Iota(n), options).status().code() == absl::StatusCode::kInvalidArgument;
  };
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(refused(10, {.batch = 0}));
  EXPECT_TRUE(refused(10, {.batch = -1}));
  EXPECT_TRUE(refused(10, {.batch = kHuge, .ranks = 2}));
  EXPECT_TRUE(refused(10, {.batch = 8, .steps_per_epoch = kHuge}));
  EXPECT_TRUE(refused(10, {.steps_per_epoch = -1}));
  EXPECT_TRUE(refused(10, {.ranks = 0}));
  EXPECT_TRUE(refused(10, {.rank = 2, .ranks = 2}));
  EXPECT_TRUE(refused(10, {.rank = -1, .ranks = 2}));
  EXPECT_TRUE(refused(10, {.ranks = 11}));
  EXPECT_FALSE(refused(10, {.ranks = 10}));
}

TEST(SamplerTest, RefusalsSayWhatIsWrong) {
  const auto refusal = [](int64_t n, const SamplerOptions& options) {
    return std::string(Sampler::Create(Iota(n), options).status().message());
  };
  EXPECT_EQ(refusal(10, {.batch = 0}), "the batch size must be at least 1, not 0");
  EXPECT_EQ(refusal(10, {.rank = 0, .ranks = 0}), "there is no rank 0 among 0");
  EXPECT_EQ(refusal(10, {.rank = -1, .ranks = 2}), "there is no rank -1 among 2");
  EXPECT_EQ(refusal(10, {.rank = 2, .ranks = 2}), "there is no rank 2 among 2");
  EXPECT_EQ(refusal(10, {.steps_per_epoch = -1}),
            "the steps per epoch must be 0 (all samples) or more, not -1");
  EXPECT_EQ(refusal(10, {.batch = int64_t{1} << 62, .ranks = 4}),
            "a batch size of 4611686018427387904 is too large");
  EXPECT_EQ(refusal(2, {.ranks = 3}),
            "2 samples cannot be divided over 3 ranks: every rank needs one; use fewer ranks or "
            "more samples");
  EXPECT_EQ(refusal(2, {.ranks = 3, .steps_per_epoch = 1}), "") << "samples repeat";
  EXPECT_EQ(refusal(0, {.ranks = 3}), "");
  Sampler sampler = *Sampler::Create(Iota(10), {.batch = 2, .rank = 0, .ranks = 3});
  EXPECT_EQ(sampler.Skip(11).message(), "cannot skip 11 of the 10 samples of an epoch");
  EXPECT_EQ(sampler.Skip(8).message(),
            "the 2 samples that are left of an epoch cannot be divided over 3 ranks: every rank "
            "needs one; use fewer ranks to end it");
  Sampler trimmed = *Sampler::Create(Iota(10), {.batch = 2, .steps_per_epoch = 2});
  EXPECT_EQ(trimmed.Skip(1).message(),
            "cannot skip 1 of the 4 samples of an epoch, because the number of steps per epoch is "
            "given");
}

SamplerOptions Grouped(std::vector<int64_t> groups, int64_t at_once) {
  SamplerOptions options;
  options.batch = 3;
  options.seed = 7;
  options.groups = std::move(groups);
  options.groups_at_once = at_once;
  return options;
}

TEST(SamplerTest, GroupsAreVisitedSoManyAtATime) {
  const std::vector<int64_t> begins = {0, 10, 20, 20, 30};  // the third holds nothing
  for (const int64_t at_once : {1, 2, 3, 9}) {
    std::vector<Sampler> ranks = AllRanks(Iota(40), Grouped(begins, at_once));
    std::set<std::vector<int64_t>> orders;
    for (int64_t epoch = 0; epoch < 5; ++epoch) {
      std::vector<int64_t> visited = Epoch(ranks, epoch);
      orders.insert(visited);
      for (int64_t begin = 0; begin < 40; begin += 10 * at_once) {
        const int64_t end = std::min<int64_t>(40, begin + 10 * at_once);
        std::set<int64_t> groups;
        for (int64_t i = begin; i < end; ++i) groups.insert(visited[size_t(i)] / 10);
        EXPECT_EQ(int64_t(groups.size()) * 10, end - begin) << "groups are read as a whole";
      }
      std::sort(visited.begin(), visited.end());
      EXPECT_EQ(visited, Iota(40));
    }
    EXPECT_EQ(orders.size(), 5u);
  }
}

TEST(SamplerTest, SamplesWithinGroupsAreShuffled) {
  std::vector<Sampler> ranks = AllRanks(Iota(60), Grouped({0, 30}, 1));
  const std::vector<int64_t> visited = Epoch(ranks, 0);
  EXPECT_FALSE(std::is_sorted(visited.begin(), visited.begin() + 30));
  EXPECT_FALSE(std::is_sorted(visited.begin() + 30, visited.end()));
  SamplerOptions ordered = Grouped({0, 30}, 1);
  ordered.shuffle = false;
  std::vector<Sampler> in_order = AllRanks(Iota(60), ordered);
  EXPECT_EQ(Epoch(in_order, 0), Iota(60));
  const std::vector<int64_t> chosen = {40, 7, 31, 2};
  std::vector<Sampler> as_given = AllRanks(chosen, ordered);
  EXPECT_EQ(Epoch(as_given, 0), chosen);
}

// With three groups, two at a time, the last is read alone; where it is the largest, as many
// samples are shuffled in both reads.
TEST(SamplerTest, EveryReadOfGroupsIsShuffledByNumbersOfItsOwn) {
  std::vector<Sampler> ranks = AllRanks(Iota(40), Grouped({0, 10, 20}, 2));
  int compared = 0;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    const std::vector<int64_t> visited = Epoch(ranks, epoch);
    const std::vector<int64_t> last(visited.begin() + 20, visited.end());
    if (*std::min_element(last.begin(), last.end()) < 20) continue;
    ++compared;
    for (const int64_t read_first : {0, 10}) {
      std::vector<int64_t> alike;  // as the first read was shuffled
      for (int64_t i = 0; i < 20; ++i) {
        alike.push_back(20 + (visited[size_t(i)] + read_first) % 20);
      }
      EXPECT_NE(last, alike);
    }
  }
  EXPECT_GT(compared, 0);
}

TEST(SamplerTest, GroupedOrderIsTheSameOnAnyNumberOfRanks) {
  SamplerOptions options = Grouped({0, 7, 20}, 2);
  std::vector<Sampler> one = AllRanks(Iota(48, 3), options);
  options.ranks = 4;
  options.batch = 5;
  std::vector<Sampler> four = AllRanks(Iota(48, 3), options);
  EXPECT_EQ(Epoch(one, 3), Epoch(four, 3));
}

TEST(SamplerTest, GroupsAreChecked) {
  for (const SamplerOptions& options :
       {Grouped({1, 3}, 1), Grouped({0, 5, 3}, 1), Grouped({0, 5}, 0)}) {
    EXPECT_EQ(Sampler::Create(Iota(9), options).status().message(),
              "there must be at most 2^24 groups of samples, their first samples must ascend from "
              "0, and at least one group must be read at a time");
  }
  for (const SamplerOptions& options : {Grouped({0, 3, 3}, 1), Grouped({}, 1), Grouped({0}, 7)}) {
    EXPECT_TRUE(Sampler::Create(Iota(9), options).ok());
  }
}

TEST(SamplerTest, PoissonStepsTakeSamplesByCoinsAndCountLikeOthers) {
  Sampler sampler =
      *Sampler::Create(Iota(1000, 5), {.batch = 64, .shuffle = true, .poisson = PhiloxWords(1)});
  const Sampler other = *Sampler::Create(Iota(1000, 5), {.batch = 64});
  EXPECT_EQ(sampler.steps(), other.steps());
  EXPECT_EQ(sampler.samples(), 1000);
  EXPECT_EQ(sampler.SamplesBefore(3), other.SamplesBefore(3));
  EXPECT_DOUBLE_EQ(sampler.probability(), 0.064);
  EXPECT_EQ(other.probability(), 0);
  std::set<int64_t> sizes, seen;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    sampler.StartEpoch(epoch);
    for (int64_t step = 0; step < sampler.steps(); ++step) {
      const std::vector<int64_t> indices = StepIndices(sampler, step);
      EXPECT_EQ(sampler.StepSlice(step).global_count, int64_t(indices.size()));
      EXPECT_LE(int64_t(indices.size()), sampler.max_batch());
      sizes.insert(int64_t(indices.size()));
      seen.insert(indices.begin(), indices.end());
    }
  }
  EXPECT_GT(sizes.size(), 5u);
  EXPECT_GT(seen.size(), 800u);
  EXPECT_TRUE(*seen.begin() >= 5 && *seen.rbegin() < 1005);
}

TEST(SamplerTest, PoissonSamplingOfAPartOfAnEpochHasTheSameProbability) {
  Sampler sampler = *Sampler::Create(Iota(100), {.batch = 10, .poisson = PhiloxWords(1)});
  ASSERT_TRUE(sampler.Skip(45).ok());
  EXPECT_EQ(sampler.steps(), 6);
  EXPECT_DOUBLE_EQ(sampler.probability(), 0.1);
  std::vector<double> taken(100);
  for (int64_t epoch = 0; epoch < 500; ++epoch) {
    sampler.StartEpoch(epoch);
    for (int64_t step = 0; step < 6; ++step) {
      for (const int64_t index : StepIndices(sampler, step)) taken[size_t(index)] += 1;
    }
  }
  for (const double count : taken) EXPECT_NEAR(count, 300, 5.5 * std::sqrt(270));
  const Sampler longer =
      *Sampler::Create(Iota(100), {.batch = 10, .steps_per_epoch = 50, .poisson = PhiloxWords(1)});
  EXPECT_EQ(longer.steps(), 50);
  EXPECT_DOUBLE_EQ(longer.probability(), 0.1);
}

TEST(SamplerTest, PoissonSamplingRefusesRanksAndSamplesThatAreThereTwice) {
  EXPECT_EQ(Sampler::Create({1, 2, 1}, {.poisson = PhiloxWords(1)}).status().message(),
            "Poisson sampling needs each sample once, but sample 1 is there twice: what is added "
            "up of it would count twice, too");
  EXPECT_EQ(Sampler::Create({1, 2}, {.ranks = 2, .poisson = PhiloxWords(1)}).status().message(),
            "Poisson sampling is for one rank, not for 2");
  EXPECT_EQ(Sampler::Create({}, {.poisson = PhiloxWords(1)})->steps(), 0);
}

}  // namespace
}  // namespace dtnn
