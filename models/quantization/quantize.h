// Post-training quantisation: the ranges of a trained network's values, found on samples, and the
// layers that 8 bits would hurt.

#ifndef DTNN_MODELS_QUANTIZATION_QUANTIZE_H_
#define DTNN_MODELS_QUANTIZATION_QUANTIZE_H_

#include <cstdint>
#include <map>

#include "absl/status/statusor.h"
#include "data/preprocessing.h"
#include "kernels/device/context.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/quantization/quantization_record.h"
#include "models/quantization/range_finder.h"
#include "tensor/tensor.h"

namespace dtnn {

struct QuantizeOptions {
  RangeMethod method = RangeMethod::kMinMax;
  // A layer that differs by more from itself in float32, on exact inputs, stays there: the root of
  // the mean square of the difference, by that of its output.
  double largest_error = 0.1;
  int64_t batch = 32;  // samples at a time
  // The last layer of products computes in float32: its results are the network's.
  bool last_in_float = true;
};

struct Quantized {
  QuantizationRecord record;
  std::map<int, double> errors;  // by id: layers that multiply bytes, or were tried
};

// `samples`: (n, sample), float32, as the network takes them with this preprocessing.
// InvalidArgument for no samples, samples that are all the same, and a NaN or an infinity in a
// sample or in what a layer makes of it; what Plan refuses for 8 bits.
absl::StatusOr<Quantized> Quantize(const Graph& graph, ParameterStore& store,
                                   DeviceContext& context, const Tensor& samples,
                                   const Preprocessing& preprocessing,
                                   const QuantizeOptions& options = {});

}  // namespace dtnn

#endif  // DTNN_MODELS_QUANTIZATION_QUANTIZE_H_
