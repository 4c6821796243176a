// Any bytes as an ONNX file: a model that can be exported and imported again, or a Status that
// names the file.

#include <cstdlib>
#include <string>

#include "models/onnx/export/export.h"
#include "models/onnx/file/onnx_file.h"
#include "models/onnx/import/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* host = dtnn::DeviceContext::Create(dtnn::Device::Cpu())->release();
  const auto onnx = dtnn::ParseOnnx({reinterpret_cast<const char*>(data), size}, "input.onnx");
  if (!onnx.ok()) return 0;
  const auto imported = dtnn::ImportModel(*onnx, "/nowhere/input.onnx", *host);
  if (!imported.ok()) {
    if (imported.status().message().find("input.onnx") == std::string::npos) std::abort();
    return 0;
  }
  const auto exported = dtnn::ExportModel(imported->model, *imported->store, *host);
  if (!exported.ok()) std::abort();
  const auto again = dtnn::ImportModel(*exported, "again.onnx", *host);
  if (!again.ok() || again->model.graph.nodes().size() != imported->model.graph.nodes().size()) {
    std::abort();
  }
  return 0;
}
