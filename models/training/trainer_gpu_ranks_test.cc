// Training by several ranks on GPUs, which exchange through pinned memory, or by collectives of the
// GPUs: ranks are threads of this process. The same as one rank on the CPU where ranks share their
// data, and as the same ranks on CPUs otherwise.

#include <memory>
#include <string>
#include <vector>

#include "comm/local.h"
#include "comm/ranks/nccl/join_collectives.h"
#include "data/datasets/synthetic.h"
#include "data/loading/split.h"
#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "kernels/transfers/transfers.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/training/trainer.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/optimizers/adam.h"
#include "tensor/gpu/open_gpus.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::Values;

constexpr ImageExtents kImage = {6, 6, 2};
constexpr int64_t kSamples = 43, kBatch = 12;  // of all ranks: the last step is smaller

Graph SmallGraph() {
  GraphBuilder b("small", TensorFormat::kNCHW);
  b.Input(kImage).Conv2d(4, {.padding = 1}).BatchNorm().Relu().Flatten();
  return *b.Fc(6).BatchNorm().Relu().Fc(4).Softmax().Build();
}

// All values of all ranks after two epochs, in the order of ranks.
std::vector<std::vector<double>> Train(Device device, int ranks, TrainerOptions options,
                                       bool own_data = false, bool collectives = false) {
  const Graph graph = SmallGraph();
  options.metric_set = {std::make_shared<CategoricalCrossEntropy>(), {}};
  options.optimizer = std::make_shared<Adam>();
  std::vector<std::vector<double>> values(static_cast<size_t>(ranks));
  const absl::Status status = RunRanks(ranks, [&](Communicator& communicator) -> absl::Status {
    SetNumThreads(1);
    // Collectives need a GPU for each rank; else ranks share one.
    Device mine = device;
    if (collectives) mine.index += communicator.rank();
    DTNN_ASSIGN_OR_RETURN(const auto context, DeviceContext::Create(mine));
    std::unique_ptr<DeviceCollectives> group;
    if (collectives) {
      DTNN_ASSIGN_OR_RETURN(group,
                            JoinCollectives(communicator, *context, std::chrono::minutes(1)));
    }
    // Rank 0's values are for all.
    DTNN_ASSIGN_OR_RETURN(const auto store,
                          ParameterStore::Create(graph, *context, DType::kFloat64,
                                                 uint64_t(communicator.rank()) + 1));
    TrainerOptions of_rank = options;
    of_rank.communicator = &communicator;
    of_rank.reducer.collectives = group.get();
    DTNN_ASSIGN_OR_RETURN(const auto trainer, Trainer::Create(graph, *store, *context, of_rank));
    const std::shared_ptr<const Dataset> data =
        *MakeSynthetic({.train_samples = kSamples,
                        .sample = kImage,
                        .classes = 4,
                        .pattern = SyntheticPattern::kClasses});
    LoaderOptions loading;
    loading.batch = kBatch / ranks;
    loading.format = graph.format();
    loading.dtype = DType::kFloat64;
    loading.rank = communicator.rank();
    loading.ranks = ranks;
    std::vector<int64_t> indices = AllIndices(kSamples);
    if (own_data) {  // rank 1 has less
      loading.rank = 0, loading.ranks = 1;
      indices.resize(communicator.rank() == 0 ? 30 : 13);
    }
    DTNN_ASSIGN_OR_RETURN(const auto loader, Loader::Create(data, Split::kTrain, indices, loading));
    DTNN_RETURN_IF_ERROR(trainer->Train(*loader, nullptr, 2, {}));
    DTNN_ASSIGN_OR_RETURN(const Tensor host, ToHost(*context, store->all_values()));
    values[size_t(communicator.rank())] = Values(host);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  return values;
}

class TrainerGpuRanksTest : public ::testing::TestWithParam<Device> {
 protected:
  void SetUp() override { DTNN_GPU_OR_SKIP_AT(gpu, GetParam()); }
};

// Small buckets, so that their exchange begins during the backward pass.
GradientReducerOptions SmallBuckets(bool blocking) {
  return {.bucket_bytes = 512, .blocking = blocking};
}

TEST_P(TrainerGpuRanksTest, AsOneRankOnTheCpu) {
  for (const bool blocking : {true, false}) {
    TrainerOptions options;
    options.sync_batch_norm = true;
    options.reducer = SmallBuckets(blocking);
    const std::vector<double> one = Train(Device::Cpu(), 1, options)[0];
    for (const int ranks : {1, 2, 4}) {
      for (const std::vector<double>& values : Train(GetParam(), ranks, options)) {
        EXPECT_TRUE(Close(values, one, 1e-8))
            << ranks << " ranks" << (blocking ? ", blocking" : "");
      }
    }
  }
}

TEST_P(TrainerGpuRanksTest, ByCollectivesAsOneRankOnTheCpu) {
  for (const bool blocking : {true, false}) {
    TrainerOptions options;
    options.sync_batch_norm = true;
    options.reducer = SmallBuckets(blocking);
    const std::vector<double> one = Train(Device::Cpu(), 1, options)[0];
    for (const int ranks : {1, 2, 4}) {
      if (GetParam().type == DeviceType::kCuda && ranks > *gpu::CountGpus(DeviceType::kCuda)) break;
      for (const std::vector<double>& values :
           Train(GetParam(), ranks, options, /*own_data=*/false, /*collectives=*/true)) {
        EXPECT_TRUE(Close(values, one, 1e-8))
            << ranks << " ranks" << (blocking ? ", blocking" : "");
      }
    }
  }
}

TEST_P(TrainerGpuRanksTest, ClippedAndAccumulatedAsOneRankOnTheCpu) {
  TrainerOptions options;
  options.accumulate_steps = 2;
  options.clip_norm = 0.1;
  options.sync_batch_norm = true;
  options.reducer = SmallBuckets(false);
  options.whole_steps = true;
  const std::vector<double> one = Train(Device::Cpu(), 1, options)[0];
  for (const std::vector<double>& values : Train(GetParam(), 2, options)) {
    EXPECT_TRUE(Close(values, one, 1e-8));
  }
}

// Statistics of each rank, averaged at the end; models that drift apart and are averaged; ranks
// with data of their own.
TEST_P(TrainerGpuRanksTest, AveragesAsOnCpus) {
  for (const bool own_data : {false, true}) {
    for (const int64_t frequency : {0, 2}) {
      for (const int64_t accumulate : {1, 2}) {
        TrainerOptions options;
        options.accumulate_steps = accumulate;
        options.model_sync = {.frequency = frequency, .weighting = RankWeighting::kSamples};
        options.reducer = SmallBuckets(false);
        const auto expected = Train(Device::Cpu(), 2, options, own_data);
        const auto actual = Train(GetParam(), 2, options, own_data);
        for (size_t rank = 0; rank < 2; ++rank) {
          EXPECT_TRUE(Close(actual[rank], expected[rank], 1e-8))
              << "rank " << rank << ", models every " << frequency << ", accumulated over "
              << accumulate << (own_data ? ", data of their own" : "");
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, TrainerGpuRanksTest,
                         ::testing::Values(Device::Simulated(0), Device::Cuda(0)),
                         [](const auto& info) {
                           return info.param.type == DeviceType::kCuda ? "Cuda" : "Simulated";
                         });

}  // namespace
}  // namespace dtnn
