// A graph with parameters and a plan of its own: what the tests of plans begin with.

#ifndef DTNN_MODELS_TESTING_PLAN_SESSION_H_
#define DTNN_MODELS_TESTING_PLAN_SESSION_H_

#include <cstdint>
#include <memory>

#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/plan.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "tensor/tensor.h"

namespace dtnn::testing {

struct PlanSession {
  PlanSession(const Graph& graph, int64_t batch, DType dtype = DType::kFloat64,
              bool training = true);
  // Fails the test where it cannot.
  std::unique_ptr<Plan> Compile(int64_t batch, bool training);

  Graph graph;
  CategoricalCrossEntropy loss;
  std::unique_ptr<DeviceContext> device = *DeviceContext::Create(Device::Cpu());
  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<Plan> plan;
};

// Classes out of 4.
Tensor Labels(int64_t n);

}  // namespace dtnn::testing

#endif  // DTNN_MODELS_TESTING_PLAN_SESSION_H_
