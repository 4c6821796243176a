#include "data/loading/byte_batches.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include "data/images/image_bytes.h"
#include "tensor/errors.h"
#include "tensor/tensor.h"

namespace dtnn {

namespace {

// A table has 256 values of each channel.
constexpr int64_t kMostByteChannels = 16;

}  // namespace

std::string WhyNoBytes(const Dataset& dataset, const TransformList& transforms, double mixup) {
  if (!dataset.byte_format())
    return StrCat(dataset.name(), ", as it is read here, gives values, not bytes");
  if (const int64_t channels = dataset.sample().channels; channels > kMostByteChannels) {
    return StrCat(dataset.name(), " has samples of ", channels, " channels, not of ",
                  kMostByteChannels, " at most");
  }
  if (mixup > 0) return "mixup mixes values";
  for (const auto& transform : transforms) {
    if (!transform->moves_pixels()) return StrCat(ToString(*transform), " computes values");
  }
  return "";
}

absl::StatusOr<std::shared_ptr<const ByteImagesSpec>> ValuesOfBytes(
    const Dataset& dataset, size_t changes, const Normalization& normalization, TensorFormat format,
    DType dtype) {
  auto spec = std::make_shared<ByteImagesSpec>();
  spec->sample = dataset.sample();
  spec->from = dataset.byte_format().value();
  spec->to = format;
  spec->changes = int64_t(changes);
  // As an image: each channel is a row of all bytes there are.
  const ImageExtents table = {1, 256, spec->sample.channels}, row = {1, 256, 1};
  constexpr TensorFormat kPlanes = TensorFormat::kNCHW;
  DTNN_ASSIGN_OR_RETURN(spec->values,
                        Tensor::Allocate(Device::Cpu(), dtype, {table.channels, table.width}));
  std::array<uint8_t, 256> bytes;
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  for (int64_t c = 0; c < table.channels; ++c) {
    PutImage(bytes, kPlanes, row, kPlanes, spec->values, c);
  }
  DispatchFloating(dtype, [&]<typename T>(T) {
    Normalize(normalization, table, kPlanes,
              std::span(spec->values.data<T>(), size_t(spec->values.num_elements())));
  });
  return spec;
}

}  // namespace dtnn
