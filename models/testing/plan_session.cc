#include "models/testing/plan_session.h"

#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tools/testing/tensors.h"

namespace dtnn::testing {

PlanSession::PlanSession(const Graph& graph, int64_t batch, DType dtype, bool training)
    : graph(graph) {
  store = *ParameterStore::Create(graph, *device, dtype, 11);
  EXPECT_TRUE(store->AllocateForTraining(*device, 0).ok());
  plan = Compile(batch, training);
}

std::unique_ptr<Plan> PlanSession::Compile(int64_t batch, bool training) {
  // An evaluation that rounds as training does.
  auto made = Plan::Compile(
      graph, *store, *device,
      {.batch = batch, .training = training, .loss = &loss, .fusions = Fusions::None()});
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

Tensor Labels(int64_t n) {
  std::vector<double> labels;
  for (int64_t i = 0; i < n; ++i) labels.push_back(double(i * 7 % 4));
  return TensorOf(DType::kInt32, Shape{n}, labels);
}

}  // namespace dtnn::testing
