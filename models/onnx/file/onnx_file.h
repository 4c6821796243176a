// Files of ONNX models, and the tensors that they keep in files beside them.

#ifndef DTNN_MODELS_ONNX_FILE_ONNX_FILE_H_
#define DTNN_MODELS_ONNX_FILE_ONNX_FILE_H_

#include <cstdint>
#include <limits>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/onnx/file/onnx.pb.h"

namespace dtnn {

// InvalidArgument unless the name ends in .onnx; FailedPrecondition where something else than an
// ONNX model is there (tensor/files/output_file.h).
absl::Status CheckOnnxOutput(std::string_view path);

// All of the file or nothing. The tensors of a model of more bytes than a message can hold go into
// a file beside it, `path` + kOnnxDataEnding, which is written first.
inline constexpr std::string_view kOnnxDataEnding = ".data";
inline constexpr int64_t kMostOnnxBytes = std::numeric_limits<int32_t>::max();
absl::Status WriteOnnx(std::string_view path, onnx::ModelProto model,
                       int64_t most_bytes = kMostOnnxBytes);

// The message in the file; errors name it. Nothing of it is checked but that it is a message with a
// graph, of no more parts than a network can have.
absl::StatusOr<onnx::ModelProto> ReadOnnx(std::string_view path);
absl::StatusOr<onnx::ModelProto> ParseOnnx(std::string_view bytes, std::string_view name);

}  // namespace dtnn

#endif  // DTNN_MODELS_ONNX_FILE_ONNX_FILE_H_
