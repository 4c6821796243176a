#include "comm/model_sync.h"

#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "comm/local.h"
#include "gtest/gtest.h"
#include "tensor/status_macros.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Close;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::TensorOf;
using ::dtnn::testing::Values;
using ::dtnn::testing::ZeroTensor;
using enum RankWeighting;
using Mask = std::vector<bool>;
using Samples = std::vector<int64_t>;

const Samples kShares = {100, 100, 400};

std::vector<double> WeightsOfAll(RankWeighting weighting, const Samples& samples) {
  return RankWeights(weighting, samples, Mask(samples.size(), true));
}

TEST(RankWeightsTest, GoldenValues) {
  EXPECT_TRUE(Close(WeightsOfAll(kEqual, kShares), {1.0 / 3, 1.0 / 3, 1.0 / 3}, 1e-16));
  EXPECT_TRUE(Close(WeightsOfAll(kSamples, kShares), {1.0 / 6, 1.0 / 6, 2.0 / 3}, 1e-16));
  EXPECT_TRUE(Close(WeightsOfAll(kInverseSamples, kShares), {4.0 / 9, 4.0 / 9, 1.0 / 9}, 1e-16));
}

TEST(RankWeightsTest, ThoseWhoTakePartAddUpToOne) {
  for (const RankWeighting weighting : {kEqual, kSamples, kInverseSamples}) {
    for (const Samples& samples :
         {Samples{7}, Samples{1, 1000000007, 3}, Samples{5, 0, 5, 9}, Samples{0, 0, 0, 0, 0}}) {
      // Every set of ranks that takes part, the empty one too.
      for (unsigned set = 0; set < 1u << samples.size(); ++set) {
        Mask takes_part;
        for (size_t i = 0; i < samples.size(); ++i) takes_part.push_back(set >> i & 1);
        const std::vector<double> weights = RankWeights(weighting, samples, takes_part);
        ASSERT_EQ(weights.size(), samples.size());
        for (size_t i = 0; i < weights.size(); ++i) {
          EXPECT_GE(weights[i], 0);
          EXPECT_TRUE(takes_part[i] || weights[i] == 0);
        }
        EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), set == 0 ? 0 : 1, 1e-15);
      }
    }
  }
}

TEST(RankWeightsTest, EqualSharesWeighTheSameWhateverTheAlgorithm) {
  for (const RankWeighting weighting : {kEqual, kSamples, kInverseSamples}) {
    EXPECT_EQ(WeightsOfAll(weighting, {60, 60, 60, 60}), std::vector<double>(4, 0.25));
  }
}

TEST(RankWeightsTest, OnlyThoseWhoTakePartCountForTheOthers) {
  EXPECT_TRUE(
      Close(RankWeights(kInverseSamples, kShares, {true, false, true}), {0.8, 0, 0.2}, 1e-16));
  EXPECT_TRUE(Close(RankWeights(kSamples, kShares, {true, true, false}), {0.5, 0.5, 0}, 1e-16));
}

TEST(DecideSyncTest, FrequencyZeroExchangesTheGradientsOfEveryBatch) {
  for (const int64_t batch : {0, 1, 2, 17}) {
    const SyncDecision decision =
        DecideSync({.weighting = kSamples}, batch, kShares, {true, true, true});
    EXPECT_TRUE(decision.gradients);
    EXPECT_FALSE(decision.models);
    EXPECT_TRUE(Close(decision.gradient_weights, {1.0 / 6, 1.0 / 6, 2.0 / 3}, 1e-16));
    EXPECT_TRUE(decision.model_weights.empty());
  }
}

TEST(DecideSyncTest, AFrequencyCountsBatchesFromZero) {
  std::vector<int64_t> synchronised;
  for (int64_t batch = 0; batch < 10; ++batch) {
    const SyncDecision decision = DecideSync({.frequency = 3}, batch, kShares, {true, true, true});
    EXPECT_EQ(decision.gradients, decision.models);
    if (decision.models) synchronised.push_back(batch);
  }
  EXPECT_EQ(synchronised, (Samples{0, 3, 6, 9}));
}

TEST(DecideSyncTest, ANegativeFrequencyNeverExchanges) {
  for (const int64_t batch : {0, 1, 2}) {
    const SyncDecision decision = DecideSync({.frequency = -1}, batch, kShares, {true, true, true});
    EXPECT_FALSE(decision.gradients || decision.models);
  }
}

// A rank whose data have come to an end has no gradient, but still a model.
TEST(DecideSyncTest, WithoutDataParticipationDecidesWhoseModelCounts) {
  ModelSyncOptions options = {.frequency = 2, .weighting = kSamples};
  const Mask has_data = {false, true, true};
  const SyncDecision all = DecideSync(options, 4, kShares, has_data);
  EXPECT_TRUE(Close(all.gradient_weights, {0, 0.2, 0.8}, 1e-16));
  EXPECT_TRUE(Close(all.model_weights, {1.0 / 6, 1.0 / 6, 2.0 / 3}, 1e-16));
  options.participation = Participation::kWithData;
  const SyncDecision available = DecideSync(options, 4, kShares, has_data);
  EXPECT_EQ(available.gradient_weights, all.gradient_weights);
  EXPECT_EQ(available.model_weights, available.gradient_weights);
}

TEST(DecideSyncTest, TooFewWithDataDoNotSynchronise) {
  const Mask one = {false, true, false}, two = {true, true, false};
  for (const int64_t frequency : {0, 2}) {
    const ModelSyncOptions options = {.frequency = frequency, .min_available = 2};
    EXPECT_FALSE(DecideSync(options, 2, kShares, one).gradients);
    EXPECT_FALSE(DecideSync(options, 2, kShares, one).models);
    EXPECT_TRUE(DecideSync(options, 2, kShares, two).gradients);
  }
  EXPECT_FALSE(DecideSync({}, 0, kShares, {false, false, false}).gradients) << "nobody has any";
}

TEST(WeightedSumTest, IsTheSumWithTheSameBitsOnAllRanks) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const double epsilon = dtype == DType::kFloat32 ? 1.2e-7 : 2.3e-16;
    for (const RankWeighting weighting : {kEqual, kSamples, kInverseSamples}) {
      for (const int64_t size : {1, 63, 40001}) {
        const std::vector<double> weights = WeightsOfAll(weighting, kShares);
        std::vector<double> expected(static_cast<size_t>(size), 0.0);
        for (int rank = 0; rank < 3; ++rank) {
          const std::vector<double> x = Values(RandomTensor(dtype, {size}, uint64_t(rank)));
          for (size_t i = 0; i < x.size(); ++i) expected[i] += weights[size_t(rank)] * x[i];
        }
        std::vector<double> results[3];
        const absl::Status status = RunRanks(3, [&](Communicator& communicator) {
          const int rank = communicator.rank();
          const Tensor x = RandomTensor(dtype, {size}, uint64_t(rank));
          const Tensor sum = ZeroTensor(dtype, {size});
          DTNN_RETURN_IF_ERROR(WeightedSum(communicator, weights[size_t(rank)], x, sum));
          EXPECT_EQ(Values(x), Values(RandomTensor(dtype, {size}, uint64_t(rank))));
          DTNN_RETURN_IF_ERROR(WeightedSum(communicator, weights[size_t(rank)], x, x));
          EXPECT_EQ(Values(x), Values(sum)) << "in place";
          results[rank] = Values(x);
          return absl::OkStatus();
        });
        ASSERT_TRUE(status.ok()) << status;
        EXPECT_TRUE(Close(results[0], expected, 4 * epsilon));
        EXPECT_EQ(results[1], results[0]);
        EXPECT_EQ(results[2], results[0]);
      }
    }
  }
}

TEST(WeightedSumTest, AWeightOfZeroHidesWhateverIsThere) {
  const double bad[] = {std::numeric_limits<double>::quiet_NaN(),
                        std::numeric_limits<double>::infinity(), 5};
  const absl::Status status = RunRanks(4, [&](Communicator& communicator) {
    const int rank = communicator.rank();
    const Tensor x = TensorOf(DType::kFloat64, {2}, {rank < 3 ? bad[rank] : 8, 3});
    DTNN_RETURN_IF_ERROR(WeightedSum(communicator, rank < 3 ? 0 : 1, x, x));
    EXPECT_EQ(Values(x), (std::vector<double>{8, 3}));
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

// More elements than a thread takes at once.
TEST(WeightedSumTest, AWeightOfZeroHidesAllOfALargeTensor) {
  constexpr int64_t kSize = 100'003;
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    const Tensor x = TensorOf(DType::kFloat32, {kSize}, std::vector<double>(kSize, 3));
    DTNN_RETURN_IF_ERROR(WeightedSum(communicator, communicator.rank(), x, x));
    EXPECT_EQ(Values(x), std::vector<double>(kSize, 3));
    return absl::OkStatus();
  });
  EXPECT_EQ(status, absl::OkStatus());
}

TEST(WeightedSumTest, TheSumIsAsLargeAndOfTheSameType) {
  const Tensor x = TensorOf(DType::kFloat32, {2}, {1, 2});
  for (const Tensor& sum :
       {TensorOf(DType::kFloat32, {1}, {0}), TensorOf(DType::kFloat64, {2}, {0, 0}),
        TensorOf(DType::kInt32, {2}, {0, 0}), Tensor()}) {
    const absl::Status status = RunRanks(
        2, [&](Communicator& communicator) { return WeightedSum(communicator, 0.5, x, sum); });
    EXPECT_EQ(status.message(),
              "a weighted sum over ranks takes dense tensors of float32 or float64 on the host");
  }
}

TEST(WeightedSumTest, WhatCannotBeScaledEndsAllRanks) {
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    const DType dtype = communicator.rank() == 0 ? DType::kInt32 : DType::kFloat32;
    const Tensor x = TensorOf(dtype, {2}, {1, 2});
    return WeightedSum(communicator, 0.5, x, x);
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dtnn
