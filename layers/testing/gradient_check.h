// The one gradient checker: a layer's backward pass against central differences.
//
// For random inputs, parameters and a random weighting r, f = sum(r * forward(x, parameters)) is
// differentiated numerically in float64 with respect to every input element and trainable
// parameter, and compared with what Backward gives for dy = r. Dropout draws the same mask each
// time, since randomness is a function of the step. In float32 the analytic gradients are compared
// with the float64 ones instead, since differences in float32 would only measure roundings.

#ifndef DTNN_LAYERS_TESTING_GRADIENT_CHECK_H_
#define DTNN_LAYERS_TESTING_GRADIENT_CHECK_H_

#include <vector>

#include "gtest/gtest.h"
#include "layers/base/layer.h"

namespace dtnn::testing {

// `inputs` are sample shapes in `format`. Checks every combination of input gradients that are
// overwritten, added to and not wanted, and that the op works with the memory that its traits allow
// a plan to share; and, of a layer with parameters to train, the same when it is frozen, where all
// parameters must keep their values. Values within 1e-3 of a kink (relu at 0) are avoided by
// construction. Inputs are in [-1, 1], times `range`: smaller for a layer that is not defined at
// the ends.
::testing::AssertionResult CheckGradients(const Layer& layer, const std::vector<Shape>& inputs,
                                          TensorFormat format, int64_t batch = 3, double range = 1);

}  // namespace dtnn::testing

#endif  // DTNN_LAYERS_TESTING_GRADIENT_CHECK_H_
