#include "apps/predict/mask_file.h"

#include <zlib.h>

#include <cstddef>

#include "data/images/encode_png.h"
#include "data/images/mask_values.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr size_t kChunks = 33;  // where they begin, behind the signature and the header
// The type and the contents of a chunk: a keyword that PNG defines, a NUL, and its text.
constexpr std::string_view kWriter("tEXtSoftware\0DTNN", 17);
constexpr auto kPalette = MaskPalette();

void AppendBigEndian(uint32_t number, std::vector<uint8_t>& bytes) {
  for (const int shift : {24, 16, 8, 0}) bytes.push_back(uint8_t(number >> shift));
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> EncodeMask(const Image& mask) {
  DTNN_ASSIGN_OR_RETURN(std::vector<uint8_t> png, EncodePng(mask, kPalette));
  std::vector<uint8_t> chunk;
  AppendBigEndian(uint32_t(kWriter.size() - 4), chunk);  // the length of the contents
  chunk.insert(chunk.end(), kWriter.begin(), kWriter.end());
  AppendBigEndian(uint32_t(crc32(0, chunk.data() + 4, uInt(kWriter.size()))), chunk);
  png.insert(png.begin() + kChunks, chunk.begin(), chunk.end());
  return png;
}

bool IsOwnMask(std::string_view start) {
  constexpr size_t kType = kChunks + 4;  // behind the length
  return start.size() > kType && start.substr(kType).starts_with(kWriter);
}

}  // namespace dtnn
