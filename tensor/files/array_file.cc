#include "tensor/files/array_file.h"

#include <utility>

#include "tensor/errors.h"

namespace dtnn {
namespace {

bool IsNpz(std::string_view path) { return path.ends_with(".npz"); }
bool IsSafetensors(std::string_view path) { return path.ends_with(".safetensors"); }

absl::Status CheckReadableName(std::string_view path) {
  if (IsNpz(path) || IsSafetensors(path)) return absl::OkStatus();
  const bool imported = path.ends_with(".onnx") || path.ends_with(".pth") || path.ends_with(".pt");
  return InvalidArgument(
      path, ": is not named as a file of arrays; only .npz and .safetensors are read",
      imported ? "; the program import makes a model of ONNX files and of weights of PyTorch" : "");
}

}  // namespace

absl::Status CheckArrayFileName(std::string_view path) {
  if (IsNpz(path) || IsSafetensors(path)) return absl::OkStatus();
  return InvalidArgument(
      path, ": the file's name must end in .npz or .safetensors, which decides its format");
}

absl::StatusOr<ArrayFileReader> ArrayFileReader::Open(std::string_view path) {
  DTNN_RETURN_IF_ERROR(CheckReadableName(path));
  if (IsNpz(path)) {
    DTNN_ASSIGN_OR_RETURN(NpzReader reader, NpzReader::Open(path));
    return ArrayFileReader(path, std::move(reader));
  }
  DTNN_ASSIGN_OR_RETURN(SafetensorsReader reader, SafetensorsReader::Open(path));
  return ArrayFileReader(path, std::move(reader));
}

absl::StatusOr<ArrayFileReader> ArrayFileReader::Parse(std::span<const std::byte> bytes,
                                                       std::string_view name) {
  DTNN_RETURN_IF_ERROR(CheckReadableName(name));
  if (IsNpz(name)) {
    DTNN_ASSIGN_OR_RETURN(NpzReader reader, NpzReader::Parse(bytes, name));
    return ArrayFileReader(name, std::move(reader));
  }
  DTNN_ASSIGN_OR_RETURN(SafetensorsReader reader, SafetensorsReader::Parse(bytes, name));
  return ArrayFileReader(name, std::move(reader));
}

const std::vector<std::string>& ArrayFileReader::names() const {
  return std::visit(
      [](const auto& reader) -> const auto& { return reader.names(); }, reader_);
}

bool ArrayFileReader::Contains(std::string_view name) const {
  return std::visit([&](const auto& reader) { return reader.Contains(name); }, reader_);
}

int64_t ArrayFileReader::Bytes(std::string_view name) const {
  return std::visit([&](const auto& reader) { return reader.Bytes(name); }, reader_);
}

absl::StatusOr<Tensor> ArrayFileReader::Read(std::string_view name) {
  return std::visit([&](auto& reader) { return reader.Read(name); }, reader_);
}

absl::StatusOr<Shape> ArrayFileReader::ReadShape(std::string_view name) {
  return std::visit([&](auto& reader) { return reader.ReadShape(name); }, reader_);
}

absl::StatusOr<std::optional<std::string>> ArrayFileReader::Text(std::string_view name) {
  if (auto* npz = std::get_if<NpzReader>(&reader_)) {
    if (!npz->Contains(name)) return std::nullopt;
    DTNN_ASSIGN_OR_RETURN(std::string text, npz->ReadText(name));
    return text;
  }
  for (const auto& [key, text] : std::get<SafetensorsReader>(reader_).metadata()) {
    if (key == name) return text;
  }
  return std::nullopt;
}

absl::Status WriteArrayFile(std::string_view path, const NamedTensors& tensors,
                            const NamedTexts& texts) {
  DTNN_RETURN_IF_ERROR(CheckArrayFileName(path));
  if (IsNpz(path)) return WriteNpz(path, tensors, NpzCompression::kStored, texts);
  return WriteSafetensors(path, tensors, texts);
}

}  // namespace dtnn
