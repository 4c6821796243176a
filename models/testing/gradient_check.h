// The backward pass of a whole network against central differences, as a training plan runs it: the
// layers' own checks (layers/testing/gradient_check.h) cannot see memory that the plan shares
// wrongly, gradients that several consumers add to, or an order of nodes.
//
// In float64, on random samples. Parameters are moved off the values that they begin with, since
// zeros are where relus have their kink. Cost: two passes per element checked.

#ifndef DTNN_MODELS_TESTING_GRADIENT_CHECK_H_
#define DTNN_MODELS_TESTING_GRADIENT_CHECK_H_

#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "kernels/best_of/best_of.h"
#include "models/graph/graph.h"

namespace dtnn::testing {

struct NetworkCheckOptions {
  int64_t batch = 3;
  // How many of each trainable parameter, spread evenly.
  int64_t elements = 4;
  // The variant of convolutions, as in PlanOptions.
  std::string conv_variant = "auto";
  BestOf* best_of = nullptr;
};

// Fails too where nearly all gradients are 0: such a network shows nothing.
::testing::AssertionResult CheckNetworkGradients(const Graph& graph,
                                                 const NetworkCheckOptions& options = {});

}  // namespace dtnn::testing

#endif  // DTNN_MODELS_TESTING_GRADIENT_CHECK_H_
