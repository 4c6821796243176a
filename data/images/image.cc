#include "data/images/image.h"

#include <new>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "data/images/jpeg.h"
#include "data/images/orientation.h"
#include "data/images/png.h"
#include "tensor/errors.h"
#include "tensor/files/bytes/known_contents.h"

namespace dtnn {
namespace {

absl::Status Unknown(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return absl::DataLossError("is empty; is the download complete?");
  if (const std::string_view contents = KnownContents(std::as_bytes(bytes)); !contents.empty()) {
    return InvalidArgument("is ", contents, "; images must be JPEG or PNG files");
  }
  std::string start;
  for (const uint8_t byte : bytes.first(bytes.size() < 4 ? bytes.size() : 4)) {
    absl::StrAppendFormat(&start, " %02x", byte);
  }
  return InvalidArgument("is neither a JPEG nor a PNG image: it starts with", start);
}

// One of the two kinds of files.
struct Format {
  bool (*is)(std::span<const uint8_t> bytes);
  absl::StatusOr<Image> (*decode)(std::span<const uint8_t> bytes, const ImageOptions& options);
  absl::StatusOr<ImageExtents> (*extents)(std::span<const uint8_t> bytes, int64_t max_pixels);
  int (*orientation)(std::span<const uint8_t> bytes);
};
constexpr Format kFormats[] = {{LooksLikeJpeg, DecodeJpeg, ReadJpegExtents, JpegOrientation},
                               {LooksLikePng, DecodePng, ReadPngExtents, PngOrientation}};

absl::StatusOr<Image> Decode(std::span<const uint8_t> bytes, const ImageOptions& options) {
  for (const Format& format : kFormats) {
    if (!format.is(bytes)) continue;
    DTNN_ASSIGN_OR_RETURN(Image image, format.decode(bytes, options));
    try {
      return Oriented(std::move(image), format.orientation(bytes));
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError("not enough memory to turn it");
    }
  }
  return Unknown(bytes);
}

absl::StatusOr<Image> Mask(std::span<const uint8_t> bytes, int64_t max_pixels) {
  if (LooksLikePng(bytes)) {
    DTNN_ASSIGN_OR_RETURN(Image mask, DecodePngMask(bytes, max_pixels));
    try {
      return Oriented(std::move(mask), PngOrientation(bytes));
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError("not enough memory to turn it");
    }
  }
  if (!LooksLikeJpeg(bytes)) return Unknown(bytes);
  return absl::InvalidArgumentError(
      "is a JPEG image, which does not keep values exactly; masks must be PNG files");
}

absl::StatusOr<ImageExtents> Extents(std::span<const uint8_t> bytes, int64_t max_pixels) {
  for (const Format& format : kFormats) {
    if (!format.is(bytes)) continue;
    DTNN_ASSIGN_OR_RETURN(const ImageExtents extents, format.extents(bytes, max_pixels));
    return Oriented(extents, format.orientation(bytes));
  }
  return Unknown(bytes);
}

}  // namespace

absl::StatusOr<Image> DecodeImage(std::span<const uint8_t> bytes, std::string_view name,
                                  const ImageOptions& options) {
  if (options.channels != 1 && options.channels != 3) {
    return InvalidArgument(name, ": images have 1 or 3 channels, not ", options.channels);
  }
  return WithContext(Decode(bytes, options), name);
}

absl::StatusOr<Image> DecodeMask(std::span<const uint8_t> bytes, std::string_view name,
                                 int64_t max_pixels) {
  return WithContext(Mask(bytes, max_pixels), name);
}

absl::StatusOr<ImageExtents> ReadImageExtents(std::span<const uint8_t> bytes, std::string_view name,
                                              int64_t max_pixels) {
  return WithContext(Extents(bytes, max_pixels), name);
}

}  // namespace dtnn
