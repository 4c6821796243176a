// Weights and checkpoints of a network on a simulated GPU, and on a real one; that is skipped, with
// the reason, where there is none.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "models/checkpoint/checkpoint.h"
#include "models/graph/builder.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::Values;

Graph Net(TensorFormat format) {
  GraphBuilder b("net", format);
  b.Input({4, 6, 3}).Conv2d(5).BatchNorm().Relu().Flatten().Fc(3).Softmax();
  return *b.Build();
}

std::vector<double> OnHost(DeviceContext& device, const Tensor& tensor) {
  const Tensor host = testing::ZeroTensor(tensor.dtype(), tensor.shape());
  EXPECT_TRUE(device.Copy(tensor, host).ok() && device.Synchronize().ok());
  return Values(host);
}

// A store whose values and slots `seed` decides.
std::unique_ptr<ParameterStore> Store(const Graph& graph, DeviceContext& device, uint64_t seed) {
  auto store = *ParameterStore::Create(graph, device, DType::kFloat32, seed);
  EXPECT_TRUE(store->AllocateForTraining(device, 2).ok());
  for (const Tensor& slot : store->slots()) {
    for (size_t n = 0; n < graph.nodes().size(); ++n) {
      for (size_t p = 0; p < graph.nodes()[n].parameters.size(); ++p) {
        if (!graph.nodes()[n].parameters[p].trainable) continue;
        const Tensor part = store->Slice(slot, int(n), int(p));
        const Tensor values = RandomTensor(part.dtype(), part.shape(), ++seed);
        EXPECT_TRUE(device.Copy(values, part).ok() && device.Synchronize().ok());
      }
    }
  }
  return store;
}

class CheckpointGpuTest : public ::testing::TestWithParam<Device> {};

TEST_P(CheckpointGpuTest, ARunMovesBetweenCpuAndGpu) {
  DTNN_GPU_OR_SKIP_AT(gpu, GetParam());
  auto cpu = *DeviceContext::Create(Device::Cpu());
  const std::string path = ::testing::TempDir() + "/x.npz";
  const Graph graph = Net(TensorFormat::kNHWC);
  for (const bool to_gpu : {false, true}) {
    DeviceContext& from = to_gpu ? *cpu : *gpu;
    DeviceContext& to = to_gpu ? *gpu : *cpu;
    auto saved = Store(graph, from, 1), store = Store(graph, to, 2);
    RunState run = {.optimizer = "adam"};
    run.kept.emplace("best", saved->all_values());
    ASSERT_TRUE(SaveCheckpoint(path, graph, *saved, from, run).ok());
    const absl::StatusOr<StagedCheckpoint> checkpoint =
        StagedCheckpoint::Open(path, graph, *store, to, "adam");
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
    ASSERT_TRUE(checkpoint->Apply(*store, to).ok());
    EXPECT_EQ(OnHost(to, store->all_values()), OnHost(from, saved->all_values()));
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(OnHost(to, store->slots()[i]), OnHost(from, saved->slots()[i]));
    }
    const Tensor kept = checkpoint->run().kept.find("best")->second;
    EXPECT_EQ(kept.device(), to.device());
    EXPECT_EQ(OnHost(to, kept), OnHost(from, saved->all_values()));
    // Weights go into the other format on the way.
    const Graph other = Net(TensorFormat::kNCHW);
    auto converted = Store(other, to, 3);
    ASSERT_TRUE(LoadWeights(path, other, *converted, to).ok());
    ASSERT_TRUE(SaveWeights(path, other, *converted, to).ok());
    auto back = Store(graph, from, 4);
    ASSERT_TRUE(LoadWeights(path, graph, *back, from).ok());
    EXPECT_EQ(OnHost(from, back->all_values()), OnHost(from, saved->all_values()));
  }
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(, CheckpointGpuTest,
                         ::testing::Values(Device::Simulated(0), Device::Cuda(0)),
                         [](const auto& info) {
                           return info.param.type == DeviceType::kCuda ? "Cuda" : "Simulated";
                         });

}  // namespace
}  // namespace dtnn
