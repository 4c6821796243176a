#include "data/images/jpeg.h"

// clang-format off
#include <jerror.h>
#include <jpeglib.h>
// clang-format on

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <new>

#include "absl/status/status.h"
#include "data/images/image_limits.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"

namespace dtnn {
namespace {

// A progressive file may repeat scans at will, each of which costs time in proportion to the image.
constexpr int kMaxScans = 200;

// The library reports errors by calling a function that must not return. It jumps back into one of
// the functions below that call setjmp; these hold no objects with destructors.
struct Decoder {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  jmp_buf jump = {};
  char message[JMSG_LENGTH_MAX] = {};
  bool unsupported = false;
};

[[noreturn]] void Fail(j_common_ptr info) {
  Decoder* decoder = static_cast<Decoder*>(info->client_data);
  info->err->format_message(info, decoder->message);
  const int code = info->err->msg_code;
  decoder->unsupported = code == JERR_BAD_PRECISION || code == JERR_SOF_UNSUPPORTED ||
                         code == JERR_CONVERSION_NOTIMPL || code == JERR_NOT_COMPILED ||
                         code == JERR_CCIR601_NOTIMPL;
  std::longjmp(decoder->jump, 1);
}

// Warnings (level -1) are about damaged data, but for those about superfluous bytes, as some
// cameras leave them, and about metadata.
void Message(j_common_ptr info, int level) {
  if (level >= 0) return;
  const int code = info->err->msg_code;
  if (code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR ||
      code == JWRN_BOGUS_ICC || code == JWRN_TOO_MUCH_DATA) {
    return;
  }
  Fail(info);
}

void Progress(j_common_ptr info) {
  if (!info->is_decompressor) return;
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMaxScans) {
    ERREXIT(info, JERR_BAD_PROGRESSION);
  }
}

void Silent(j_common_ptr) {}

// False: decoder.message says why.
bool ReadHeader(Decoder& decoder, std::span<const uint8_t> bytes) {
  decoder.info.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = Fail;
  decoder.errors.emit_message = Message;
  decoder.errors.output_message = Silent;
  decoder.info.client_data = &decoder;
  if (setjmp(decoder.jump) != 0) return false;
  jpeg_create_decompress(&decoder.info);  // clears all but err and client_data
  decoder.progress.progress_monitor = Progress;
  decoder.info.progress = &decoder.progress;
  jpeg_mem_src(&decoder.info, bytes.data(), static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&decoder.info, TRUE);
  return true;
}

bool Start(Decoder& decoder) {
  if (setjmp(decoder.jump) != 0) return false;
  jpeg_start_decompress(&decoder.info);
  return true;
}

bool ReadRows(Decoder& decoder, uint8_t* to, size_t row_bytes) {
  if (setjmp(decoder.jump) != 0) return false;
  while (decoder.info.output_scanline < decoder.info.output_height) {
    JSAMPROW row = to + decoder.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&decoder.info, &row, 1);
  }
  jpeg_finish_decompress(&decoder.info);
  return true;
}

class Jpeg {
 public:
  Jpeg() = default;
  ~Jpeg() { jpeg_destroy_decompress(&decoder_.info); }
  Jpeg(const Jpeg&) = delete;
  Jpeg& operator=(const Jpeg&) = delete;

  absl::Status Open(std::span<const uint8_t> bytes, int64_t max_pixels) {
    if (!ReadHeader(decoder_, bytes)) return Error();
    return CheckImageExtents(info().image_height, info().image_width, max_pixels);
  }

  // Every 8 x 8 block of a channel costs at least a bit of Huffman code.
  absl::Status CheckLength(uint64_t bytes) {
    constexpr int64_t kDensest = 8 * 64;
    const int64_t height = info().image_height, width = info().image_width;
    if (info().arith_code || height * width / kDensest <= int64_t(bytes)) return absl::OkStatus();
    return ShorterThanItsPixels(height, width, bytes);
  }

  absl::Status Begin() { return Start(decoder_) ? absl::OkStatus() : Error(); }
  absl::Status Finish(uint8_t* to, size_t row_bytes) {
    return ReadRows(decoder_, to, row_bytes) ? absl::OkStatus() : Error();
  }
  jpeg_decompress_struct& info() { return decoder_.info; }

 private:
  absl::Status Error() const {
    if (decoder_.unsupported) {
      return Unimplemented("is a kind of JPEG that cannot be decoded: ", decoder_.message);
    }
    if (decoder_.errors.msg_code == JERR_OUT_OF_MEMORY) {
      return absl::ResourceExhaustedError("not enough memory to decode it");
    }
    return DataLoss("is damaged or truncated (", decoder_.message, "); is it complete?");
  }

  Decoder decoder_;
};

// The largest of 8, 4, 2 and 1 that the extents may be divided by.
int Reduction(const jpeg_decompress_struct& info, int64_t shortest_side) {
  if (shortest_side <= 0) return 1;
  const int64_t side = std::min(info.image_height, info.image_width);
  int reduction = 8;
  while (reduction > 1 && CeilDiv(side, reduction) < shortest_side) reduction /= 2;
  return reduction;
}

// Adobe's programs, which write nearly all such files, store the inks inverted.
void FromCmyk(std::span<const uint8_t> inks, bool inverted, int channels, uint8_t* to) {
  for (size_t at = 0; at < inks.size(); at += 4) {
    int light[4];
    for (int i = 0; i < 4; ++i) light[i] = inverted ? inks[at + i] : 255 - inks[at + i];
    int rgb[3];
    for (int i = 0; i < 3; ++i) rgb[i] = (light[i] * light[3] + 127) / 255;
    if (channels == 3) {
      for (const int value : rgb) *to++ = uint8_t(value);
    } else {
      *to++ = uint8_t((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
    }
  }
}

absl::StatusOr<Image> Decode(Jpeg& jpeg, const ImageOptions& options) {
  jpeg_decompress_struct& info = jpeg.info();
  const bool inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  info.out_color_space = inks ? JCS_CMYK : options.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  info.scale_num = 1;
  info.scale_denom = unsigned(Reduction(info, options.shortest_side));
  info.dct_method = JDCT_ISLOW;
  DTNN_RETURN_IF_ERROR(jpeg.Begin());
  Image image;
  image.extents = {info.output_height, info.output_width, options.channels};
  const size_t pixels = size_t(info.output_height) * info.output_width;
  const size_t row_bytes = size_t(info.output_width) * size_t(info.output_components);
  image.pixels.resize(pixels * size_t(options.channels));
  if (!inks) {
    DTNN_RETURN_IF_ERROR(jpeg.Finish(image.pixels.data(), row_bytes));
    return image;
  }
  std::vector<uint8_t> four(pixels * 4);
  DTNN_RETURN_IF_ERROR(jpeg.Finish(four.data(), row_bytes));
  FromCmyk(four, info.saw_Adobe_marker, options.channels, image.pixels.data());
  return image;
}

}  // namespace

bool LooksLikeJpeg(std::span<const uint8_t> bytes) {
  return bytes.size() >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

absl::StatusOr<Image> DecodeJpeg(std::span<const uint8_t> bytes, const ImageOptions& options) {
  Jpeg jpeg;
  DTNN_RETURN_IF_ERROR(jpeg.Open(bytes, options.max_pixels));
  DTNN_RETURN_IF_ERROR(jpeg.CheckLength(bytes.size()));
  try {
    return Decode(jpeg, options);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("not enough memory to decode it");
  }
}

absl::StatusOr<ImageExtents> ReadJpegExtents(std::span<const uint8_t> bytes, int64_t max_pixels) {
  Jpeg jpeg;
  DTNN_RETURN_IF_ERROR(jpeg.Open(bytes, max_pixels));
  return ImageExtents{jpeg.info().image_height, jpeg.info().image_width,
                      jpeg.info().jpeg_color_space == JCS_GRAYSCALE ? 1 : 3};
}

}  // namespace dtnn
