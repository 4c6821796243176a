// Layers bound for inference in 8 bits, on the CPU and in NHWC. Values between layers are bytes
// with a scale and a zero point each (kernels/int8/quantization.h), or float32.

#ifndef DTNN_LAYERS_INT8_BIND_INT8_H_
#define DTNN_LAYERS_INT8_BIND_INT8_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/int8/quantization.h"
#include "layers/base/layer.h"

namespace dtnn {

// What a layer can do with bytes.
enum class Int8Form : uint8_t {
  kFloat,     // computes in float32; bytes are converted before and after it
  kProducts,  // convolution, fully connected: sums of products of bytes and int8
  kSelects,   // its outputs are elements of its inputs, so all have one scale: maximum pooling,
              // concatenation, flattening, dropout in evaluation
};
Int8Form Int8FormOf(const Layer& layer);

struct Int8Values {
  // The types of the inputs, the addend of a fused sum last, and of what is written; none:
  // float32.
  std::vector<std::optional<Quantization>> inputs = {};
  std::optional<Quantization> output = {};
  // Whether a layer of products, all of whose inputs are bytes, multiplies bytes.
  bool products = false;
};

// An op for evaluation on such values; `context` is as for float32. A NaN that is to become bytes
// is an InvalidArgument of its Forward.
absl::StatusOr<std::unique_ptr<LayerOp>> BindInt8(const Layer& layer, const BindContext& context,
                                                  const Int8Values& values);

}  // namespace dtnn

#endif  // DTNN_LAYERS_INT8_BIND_INT8_H_
