#include "models/onnx/file/onnx_file.h"

#include <climits>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "models/onnx/file/message_parts.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/bytes/known_contents.h"
#include "tensor/files/output_file.h"

namespace dtnn {
namespace {

constexpr int64_t kMostBytes = INT_MAX;  // of a message
constexpr int64_t kMostParts = 1 << 22;

// What every writer puts first: field 1, the version of the format, a small number.
bool StartsLikeOnnx(std::string_view start) {
  return start.size() >= 2 && start[0] == '\x08' && start[1] > 0 && start[1] < 64;
}

}  // namespace

absl::Status CheckOnnxOutput(std::string_view path) {
  if (!path.ends_with(".onnx")) {
    return InvalidArgument(path, ": the name of an ONNX file ends in .onnx");
  }
  return CheckOutputFile(path, "an ONNX model", StartsLikeOnnx);
}

absl::Status WriteOnnx(std::string_view path, const onnx::ModelProto& model) {
  const size_t size = model.ByteSizeLong();
  if (size > size_t(kMostBytes)) {
    return ResourceExhausted(path, ": the model takes ", size / 1000000,
                             " MB, but an ONNX file holds less than 2147 MB; a network with a "
                             "global average pool before its last layers is smaller");
  }
  DTNN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  std::string bytes;
  if (!model.SerializeToString(&bytes)) return absl::InternalError("cannot serialize the model");
  DTNN_RETURN_IF_ERROR(file.Append(bytes));
  return file.Commit();
}

absl::StatusOr<onnx::ModelProto> ParseOnnx(std::string_view bytes, std::string_view name) {
  if (CountMessageParts(bytes, kMostParts) > kMostParts) {
    return InvalidArgument(name, ": has more than ", kMostParts,
                           " parts; no network of that many nodes is read");
  }
  onnx::ModelProto model;
  if (bytes.size() > size_t(kMostBytes) || !model.ParseFromArray(bytes.data(), int(bytes.size())) ||
      !model.has_graph()) {
    const std::string_view known =
        KnownContents(std::as_bytes(std::span(bytes.substr(0, kKnownContentsBytes))));
    return InvalidArgument(name, ": is not an ONNX model",
                           known.empty() ? std::string(", or is damaged; is the file complete?")
                                         : StrCat("; it is ", known));
  }
  return model;
}

absl::StatusOr<onnx::ModelProto> ReadOnnx(std::string_view path) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ReadFile(path, kMostBytes));
  return ParseOnnx({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

}  // namespace dtnn
