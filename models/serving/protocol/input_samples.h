// The samples that a request to infer sends.

#ifndef DTNN_MODELS_SERVING_PROTOCOL_INPUT_SAMPLES_H_
#define DTNN_MODELS_SERVING_PROTOCOL_INPUT_SAMPLES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "models/serving/image_input.h"
#include "models/serving/protocol/infer_request.h"
#include "tensor/dtype.h"
#include "tensor/format.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace dtnn {

// The names of a network's input and output.
inline constexpr std::string_view kInputName = "input", kOutputName = "output";

// What a network takes.
struct SampleRules {
  Shape sample;
  DType dtype = DType::kFloat32;
  TensorFormat format = TensorFormat::kNHWC;
  const ImageInput* images = nullptr;  // null: it does not take images
  int64_t max_samples = 1024;          // of a request
};

// "FP32" or "FP64".
std::string_view DatatypeOf(DType dtype);
// "[2, 3, 32, 32]".
std::string ShapeJson(std::span<const int64_t> extents);

// (n, sample), as Predictor::Predict takes it. The request's one input is either that, in the
// network's own type, or images of bytes, (n, height, width, channels) or, where the network's
// format is NCHW, (n, channels, height, width), of UINT8 and of any height and width, which are
// converted as in training. InvalidArgument for other names, shapes and types, for values that
// FP32 cannot hold, and for more samples; ResourceExhausted without memory.
absl::StatusOr<Tensor> SamplesOf(const InferRequest& request, const SampleRules& rules);

}  // namespace dtnn

#endif  // DTNN_MODELS_SERVING_PROTOCOL_INPUT_SAMPLES_H_
