// Any bytes as a checkpoint for a small network in training: it is read as a whole, or there is a
// Status that names the file.

#include <cstdlib>

#include "models/checkpoint/checkpoint.h"
#include "models/graph/builder.h"

namespace {

dtnn::Graph Net() {
  dtnn::GraphBuilder b("net", dtnn::TensorFormat::kNCHW);
  b.Input({2, 3, 2}).Conv2d(3, {.kernel = 2}).BatchNorm().Flatten().BatchNorm().Fc(2);
  return *b.Build();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const dtnn::Graph* const graph = new dtnn::Graph(Net());
  static auto* device = dtnn::DeviceContext::Create(dtnn::Device::Cpu())->release();
  static auto* store =
      dtnn::ParameterStore::Create(*graph, *device, dtnn::DType::kFloat32, 1)->release();
  if (store->slots().empty() && !store->AllocateForTraining(*device, 1).ok()) std::abort();
  auto file = dtnn::ArrayFileReader::Parse(std::as_bytes(std::span(data, size)), "input.npz");
  if (!file.ok()) return 0;
  const auto info = dtnn::ReadCheckpointInfo(*file);
  const auto checkpoint = dtnn::StagedCheckpoint::Read(*file, *graph, *store, *device, "momentum");
  if (!checkpoint.ok()) {
    if (checkpoint.status().message().substr(0, 6) != "input.") std::abort();
    return 0;
  }
  // What was read tells the same when it is written again.
  if (!info.ok() || checkpoint->run().training.steps_done != info->training.steps_done ||
      !checkpoint->Apply(*store, *device).ok()) {
    std::abort();
  }
  const auto bytes = dtnn::EncodeCheckpointInfo(*info);
  if (!bytes.ok()) std::abort();
  const auto again = dtnn::DecodeCheckpointInfo(*bytes, "again");
  if (!again.ok() || *dtnn::EncodeCheckpointInfo(*again) != *bytes) std::abort();
  return 0;
}
