#include "data/images/image.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "data/images/jpeg.h"
#include "data/images/png.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

absl::Status Unknown(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return absl::DataLossError("is empty; is the download complete?");
  std::string start;
  for (const uint8_t byte : bytes.first(bytes.size() < 4 ? bytes.size() : 4)) {
    absl::StrAppendFormat(&start, " %02x", byte);
  }
  return InvalidArgument("is neither a JPEG nor a PNG image: it starts with", start);
}

absl::StatusOr<Image> Decode(std::span<const uint8_t> bytes, const ImageOptions& options) {
  if (LooksLikeJpeg(bytes)) return DecodeJpeg(bytes, options);
  if (LooksLikePng(bytes)) return DecodePng(bytes, options);
  return Unknown(bytes);
}

absl::StatusOr<ImageExtents> Extents(std::span<const uint8_t> bytes, int64_t max_pixels) {
  if (LooksLikeJpeg(bytes)) return ReadJpegExtents(bytes, max_pixels);
  if (LooksLikePng(bytes)) return ReadPngExtents(bytes, max_pixels);
  return Unknown(bytes);
}

}  // namespace

bool LooksLikeImage(std::span<const uint8_t> bytes) {
  return LooksLikeJpeg(bytes) || LooksLikePng(bytes);
}

absl::StatusOr<Image> DecodeImage(std::span<const uint8_t> bytes, std::string_view name,
                                  const ImageOptions& options) {
  if (options.channels != 1 && options.channels != 3) {
    return InvalidArgument(name, ": images have 1 or 3 channels, not ", options.channels);
  }
  return WithContext(Decode(bytes, options), name);
}

absl::StatusOr<ImageExtents> ReadImageExtents(std::span<const uint8_t> bytes, std::string_view name,
                                              int64_t max_pixels) {
  return WithContext(Extents(bytes, max_pixels), name);
}

}  // namespace dtnn
