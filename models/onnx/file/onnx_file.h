// Files of ONNX models, and the tensors that they keep in files beside them.

#ifndef DTNN_MODELS_ONNX_FILE_ONNX_FILE_H_
#define DTNN_MODELS_ONNX_FILE_ONNX_FILE_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/onnx/file/onnx.pb.h"

namespace dtnn {

// InvalidArgument unless the name ends in .onnx; FailedPrecondition where something else than an
// ONNX model is there (tensor/files/output_file.h).
absl::Status CheckOnnxOutput(std::string_view path);

// All of the file or nothing. ResourceExhausted for a model of 2 GB or more, which a message cannot
// hold.
absl::Status WriteOnnx(std::string_view path, const onnx::ModelProto& model);

// The message in the file; errors name it. Nothing of it is checked but that it is a message with a
// graph, of no more parts than a network can have.
absl::StatusOr<onnx::ModelProto> ReadOnnx(std::string_view path);
absl::StatusOr<onnx::ModelProto> ParseOnnx(std::string_view bytes, std::string_view name);

}  // namespace dtnn

#endif  // DTNN_MODELS_ONNX_FILE_ONNX_FILE_H_
