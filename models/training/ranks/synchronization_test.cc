#include "models/training/ranks/synchronization.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "comm/local.h"
#include "comm/testing/probe_communicator.h"
#include "data/loading/split.h"
#include "data/testing/counting_dataset.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "tensor/status_macros.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::ProbeCommunicator;
using ::dtnn::testing::Values;

DeviceContext& Cpu() {
  static const std::unique_ptr<DeviceContext> context = *DeviceContext::Create(Device::Cpu());
  return *context;
}

// Four parameters of three features each: beta and gamma, then the running statistics.
std::unique_ptr<ParameterStore> MakeStore() {
  GraphBuilder b("normalisation", TensorFormat::kNHWC);
  b.Input({1, 1, 3}).Flatten().BatchNorm().Softmax();
  return *ParameterStore::Create(*b.Build(), Cpu(), DType::kFloat64, 1);
}

void Fill(const Tensor& tensor, double value) {
  std::fill_n(tensor.data<double>(), tensor.num_elements(), value);
}

bool AllAre(const Tensor& tensor, double value) {
  return std::ranges::count(Values(tensor), value) == tensor.num_elements();
}

RankShares SharesOf(const std::vector<int64_t>& sizes, Communicator& communicator) {
  const int64_t n = sizes[size_t(communicator.rank())];
  const auto loader = *Loader::Create(std::make_shared<testing::CountingDataset>(n), Split::kTrain,
                                      AllIndices(n), {.batch = 10});
  return *RankShares::Of(*loader, &communicator);
}

TEST(SynchronizationTest, ModelsThatAreAlikeExchangeStatisticsOnly) {
  const absl::Status status = RunRanks(2, [](Communicator& ranks) {
    ProbeCommunicator probe(ranks);
    Synchronization sync(&probe, Cpu(), {});
    const auto store = MakeStore();
    Fill(store->all_values(), ranks.rank());
    DTNN_RETURN_IF_ERROR(sync.BeginTraining(*store));
    EXPECT_TRUE(AllAre(store->all_values(), 0)) << "rank 0's";
    const uint64_t version = store->version(), statistics = store->statistics_version();
    for (int update = 0; update < 3; ++update) {
      sync.BeginUpdate(update, update);
      EXPECT_TRUE(sync.exchanges());
      EXPECT_FALSE(sync.means_of_ranks());
      EXPECT_EQ(sync.weight(), 1);
      DTNN_RETURN_IF_ERROR(sync.EndUpdate(*store));
    }
    EXPECT_TRUE(probe.sizes().empty());
    Fill(store->statistics(), 1 + 2 * ranks.rank());
    DTNN_RETURN_IF_ERROR(sync.AverageStatistics(*store));
    EXPECT_EQ(probe.sizes(), std::vector<int64_t>{store->statistics().num_elements()});
    EXPECT_TRUE(AllAre(store->statistics(), 2));
    EXPECT_TRUE(AllAre(store->values(), 0));
    EXPECT_GT(store->statistics_version(), statistics);
    EXPECT_EQ(store->version(), version) << "of the parameters, which are as they were";
    DTNN_RETURN_IF_ERROR(sync.AverageStatistics(*store));
    DTNN_RETURN_IF_ERROR(sync.EndTraining(*store));
    EXPECT_EQ(probe.sizes().size(), 1u) << "nothing has changed since";
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(SynchronizationTest, AnotherWayToSumCarriesAllOfTheModel) {
  const absl::Status status = RunRanks(2, [](Communicator& ranks) {
    ProbeCommunicator probe(ranks);
    std::vector<int64_t> sums;
    Synchronization sync(&probe, Cpu(),
                         {.models = {.frequency = 1}, .sum = [&](const Tensor& tensor) {
                            sums.push_back(tensor.num_elements());
                            return ranks.AllReduce(tensor);
                          }});
    const auto store = MakeStore();
    Fill(store->all_values(), 3 + ranks.rank());
    DTNN_RETURN_IF_ERROR(sync.BeginTraining(*store));
    EXPECT_TRUE(AllAre(store->all_values(), 3)) << "rank 0's";
    EXPECT_EQ(sums, std::vector<int64_t>{store->all_values().num_elements()});
    sync.set_shares(SharesOf({10, 10}, ranks));
    sync.BeginUpdate(0, 0);
    Fill(store->all_values(), 1 + 2 * ranks.rank());
    DTNN_RETURN_IF_ERROR(sync.EndUpdate(*store));
    EXPECT_TRUE(AllAre(store->unfrozen(), 2));
    EXPECT_EQ(sums.size(), 2u);
    EXPECT_TRUE(probe.sizes().empty());
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(SynchronizationTest, CommonStatisticsAreLeftAlone) {
  const absl::Status status = RunRanks(2, [](Communicator& ranks) {
    ProbeCommunicator probe(ranks);
    Synchronization sync(&probe, Cpu(), {.common_statistics = true});
    const auto store = MakeStore();
    sync.BeginUpdate(0, 0);
    DTNN_RETURN_IF_ERROR(sync.EndUpdate(*store));
    DTNN_RETURN_IF_ERROR(sync.EndTraining(*store));
    EXPECT_TRUE(probe.sizes().empty());
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(SynchronizationTest, StatisticsCountByTheSamplesOfRanksWithDataOfTheirOwn) {
  const absl::Status status = RunRanks(2, [](Communicator& ranks) {
    Synchronization sync(&ranks, Cpu(), {.models = {.weighting = RankWeighting::kInverseSamples}});
    const auto store = MakeStore();
    sync.set_shares(SharesOf({10, 30}, ranks));
    sync.BeginUpdate(0, 0);
    EXPECT_TRUE(sync.means_of_ranks());
    EXPECT_EQ(sync.weight(), ranks.rank() == 0 ? 0.75 : 0.25);
    Fill(store->statistics(), 1 + 4 * ranks.rank());
    DTNN_RETURN_IF_ERROR(sync.AverageStatistics(*store));
    EXPECT_TRUE(AllAre(store->statistics(), 4));
    sync.BeginUpdate(1, 1);
    EXPECT_EQ(sync.weight(), ranks.rank()) << "rank 0 has no data in step 1";
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(SynchronizationTest, ModelsAreAveragedWithTheirStatistics) {
  const absl::Status status = RunRanks(2, [](Communicator& ranks) {
    Synchronization sync(&ranks, Cpu(),
                         {.models = {.frequency = 2, .weighting = RankWeighting::kSamples}});
    const auto store = MakeStore();
    sync.set_shares(SharesOf({10, 30}, ranks));
    const double own = 1 + 4 * ranks.rank();
    for (const int64_t update : {1, 2}) {
      Fill(store->all_values(), own);
      sync.BeginUpdate(update, 0);
      EXPECT_EQ(sync.exchanges(), update == 2);
      DTNN_RETURN_IF_ERROR(sync.EndUpdate(*store));
      EXPECT_TRUE(AllAre(store->all_values(), update == 2 ? 4 : own));
    }
    Fill(store->all_values(), own);
    DTNN_RETURN_IF_ERROR(sync.AverageStatistics(*store));
    EXPECT_TRUE(AllAre(store->all_values(), own)) << "of models that differ";
    DTNN_RETURN_IF_ERROR(sync.EndTraining(*store));
    EXPECT_TRUE(AllAre(store->all_values(), 4));
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(SynchronizationTest, AnExchangeThatFailsLeavesParametersAsTheyWere) {
  for (const bool models : {true, false}) {
    (void)RunRanks(2, [&](Communicator& ranks) {
      ProbeCommunicator probe(ranks);
      Synchronization sync(&probe, Cpu(), {.models = {.frequency = models ? 1 : 0}});
      const auto store = MakeStore();
      const double own = 3 + ranks.rank();
      Fill(store->all_values(), own);
      sync.BeginUpdate(0, 0);
      if (ranks.rank() == 0) probe.FailAfter(0);
      EXPECT_FALSE((models ? sync.EndUpdate(*store) : sync.AverageStatistics(*store)).ok());
      EXPECT_TRUE(AllAre(store->all_values(), own));
      return absl::OkStatus();
    });
  }
}

TEST(SynchronizationTest, MoreRanksWithDataThanThereAreAreRefused) {
  const auto check = [](int min_available, Communicator* communicator) {
    return Synchronization(communicator, Cpu(), {.models = {.min_available = min_available}})
        .Check();
  };
  EXPECT_TRUE(check(1, nullptr).ok());
  EXPECT_EQ(check(2, nullptr).code(), absl::StatusCode::kInvalidArgument);
  const auto ranks = *LocalGroup::Create(3);
  EXPECT_TRUE(check(3, ranks[0].get()).ok());
  EXPECT_EQ(check(4, ranks[0].get()).code(), absl::StatusCode::kInvalidArgument);
}

TEST(SynchronizationTest, OneRankExchangesNothing) {
  Synchronization sync(nullptr, Cpu(), {.models = {.frequency = 1}, .at_start = false});
  const auto store = MakeStore();
  Fill(store->all_values(), 7);
  EXPECT_TRUE(sync.BeginTraining(*store).ok());
  sync.BeginUpdate(0, 0);
  EXPECT_FALSE(sync.exchanges());
  EXPECT_TRUE(sync.EndUpdate(*store).ok());
  EXPECT_TRUE(sync.AverageStatistics(*store).ok());
  EXPECT_TRUE(sync.EndTraining(*store).ok());
  EXPECT_TRUE(AllAre(store->all_values(), 7));
}

}  // namespace
}  // namespace dtnn
