#include "models/serving/testing/overstated_model.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "kernels/device/context.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/parameters/weights.h"
#include "models/serving/saved_model.h"

namespace dtnn::testing {
namespace {

Graph NetworkOf(int64_t classes) {
  GraphBuilder b("net", TensorFormat::kNHWC);
  return *b.Input({1, 1, 1}).Flatten().Fc(classes).Softmax().Build();
}

}  // namespace

std::string SaveOverstatedModel(const std::string& path) {
  const auto device = *DeviceContext::Create(Device::Cpu());
  const Graph small = NetworkOf(10);
  const auto store = *ParameterStore::Create(small, *device, DType::kFloat32, /*seed=*/3);
  EXPECT_EQ(
      SaveWeights(path, small, *store, *device, {}, ModelTags({.graph = NetworkOf(10'000'000)})),
      absl::OkStatus());
  return path + ": \"2_FC_weights\" has 40 bytes, too few for the (1, 10000000) of model net";
}

}  // namespace dtnn::testing
