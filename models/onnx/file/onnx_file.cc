#include "models/onnx/file/onnx_file.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/onnx/file/message_parts.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/bytes/known_contents.h"
#include "tensor/files/output_file.h"

namespace dtnn {
namespace {

constexpr int64_t kMostBytes = kMostOnnxBytes;
constexpr size_t kLeastMoved = 1024;  // smaller tensors stay: shapes are read without their file
constexpr int32_t kExternal = 1;      // of data_location
constexpr int64_t kMostParts = 1 << 22;

// What every writer puts first: field 1, the version of the format, a small number.
bool StartsLikeOnnx(std::string_view start) {
  return start.size() >= 2 && start[0] == '\x08' && start[1] > 0 && start[1] < 64;
}

// Into a file beside the model's, in which they are found by place and size.
absl::Status MoveTensors(const std::string& path, onnx::GraphProto& graph) {
  DTNN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  const std::string location = std::filesystem::path(path).filename().string();
  size_t offset = 0;
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    const size_t size = tensor.raw_data().size();
    if (size < kLeastMoved) continue;
    DTNN_RETURN_IF_ERROR(file.Append(tensor.raw_data()));
    for (const auto& [key, value] :
         {std::pair("location", location), {"offset", StrCat(offset)}, {"length", StrCat(size)}}) {
      onnx::StringStringEntryProto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    tensor.set_data_location(kExternal);
    tensor.clear_raw_data();
    offset += size;
  }
  return file.Commit();
}

}  // namespace

absl::Status CheckOnnxOutput(std::string_view path) {
  if (!path.ends_with(".onnx")) {
    return InvalidArgument(path, ": the name of an ONNX file ends in .onnx");
  }
  return CheckOutputFile(path, "an ONNX model", StartsLikeOnnx);
}

absl::Status WriteOnnx(std::string_view path, onnx::ModelProto model, int64_t most_bytes) {
  if (model.ByteSizeLong() > size_t(most_bytes)) {
    DTNN_RETURN_IF_ERROR(MoveTensors(StrCat(path, kOnnxDataEnding), *model.mutable_graph()));
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
