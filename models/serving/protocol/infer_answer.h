// The answer to a request of the Open Inference Protocol to infer.

#ifndef DTNN_MODELS_SERVING_PROTOCOL_INFER_ANSWER_H_
#define DTNN_MODELS_SERVING_PROTOCOL_INFER_ANSWER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/serving/protocol/infer_request.h"
#include "tensor/tensor.h"

namespace dtnn {

// How the outputs of a request are sent. InvalidArgument for a wanted output that is not there.
struct AnswerForm {
  std::optional<std::string> id = {};
  bool binary = false;
  static absl::StatusOr<AnswerForm> Of(const InferRequest& request);
};

struct InferAnswer {
  std::string body = {};
  std::optional<size_t> json_bytes = {};  // where binary data follow
};

// `outputs`: (n, outputs) of a model's float32 or float64. Numbers read back as the same numbers.
// InvalidArgument where one is NaN or infinite, which JSON cannot hold.
absl::StatusOr<InferAnswer> FormatInferAnswer(const AnswerForm& form, std::string_view model,
                                              int64_t version, const Tensor& outputs);

}  // namespace dtnn

#endif  // DTNN_MODELS_SERVING_PROTOCOL_INFER_ANSWER_H_
