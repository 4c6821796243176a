// Any bytes as the text of a network: a graph that its own text gives again, that can be printed,
// and whose plans can be bound, for inference and for training, and run where they are small; or a
// Status.

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/conv/conv2d.h"
#include "kernels/device/context.h"
#include "models/graph/network.h"
#include "models/graph/table.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/plan.h"
#include "optim/losses/mse.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

// What a network may take, and multiply, to be run.
constexpr size_t kMostBytes = size_t{16} << 20;
constexpr int64_t kMostProducts = int64_t{1} << 20;

bool Fails(const absl::Status& status) {
  if (!status.ok() && status.message().empty()) std::abort();
  return !status.ok();
}

void RunPlan(const Graph& graph, DeviceContext& context, bool training, std::string_view variant) {
  const MeanSquaredError loss;
  const PlanOptions options = {.training = training,
                               .loss = training ? &loss : nullptr,
                               .conv_variant = std::string(variant)};
  const auto memory = Plan::Measure(graph, DType::kFloat32, context, options);
  if (Fails(memory.status())) return;
  const ParameterMemory parameters = ParameterStore::Measure(graph, DType::kFloat32);
  if (memory->total() > kMostBytes || parameters.values > kMostBytes ||
      graph.multiply_adds() > kMostProducts) {
    return;
  }
  const auto store = Must(ParameterStore::Create(graph, context, DType::kFloat32, 1));
  if (training && Fails(store->AllocateForTraining(context, 0))) return;
  const auto plan = Must(Plan::Compile(graph, *store, context, options));
  const auto zeros = [](const Shape& shape) {
    return Must(Tensor::Zeros(DType::kFloat32, shape.Prepend(1)));
  };
  const Tensor x = zeros(graph.nodes().front().output);
  if (Fails(training ? plan->ForwardBackward(x, zeros(graph.nodes().back().output), 1, /*step=*/0)
                     : plan->Forward(x))) {
    std::abort();
  }
}

}  // namespace
}  // namespace dtnn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto graph =
      dtnn::ParseNetwork(std::string_view(reinterpret_cast<const char*>(data), size));
  if (dtnn::Fails(graph.status())) return 0;
  const std::string text = dtnn::NetworkText(*graph);
  const auto again = dtnn::ParseNetwork(text);
  if (!again.ok() || dtnn::NetworkText(*again) != text) std::abort();
  for (const dtnn::DType dtype : {dtnn::DType::kFloat32, dtnn::DType::kFloat64}) {
    if (dtnn::FormatTable(*graph, dtype, dtnn::Device::Cpu()).empty()) std::abort();
  }
  if (graph->num_trainable_parameters() > graph->num_parameters()) std::abort();
  const auto context = dtnn::Must(dtnn::DeviceContext::Create(dtnn::Device::Cpu()));
  for (const bool training : {false, true}) {
    dtnn::RunPlan(*graph, *context, training, "auto");
    // Whatever "auto" would choose: a user may name any of them.
    for (const std::string_view variant : dtnn::Conv2dVariantNames()) {
      dtnn::RunPlan(*graph, *context, training, variant);
    }
  }
  return 0;
}
