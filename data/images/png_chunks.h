// What the chunks of a PNG file say before it is decoded. Lengths are not trusted; the walk costs a
// few comparisons per chunk.

#ifndef DTNN_DATA_IMAGES_PNG_CHUNKS_H_
#define DTNN_DATA_IMAGES_PNG_CHUNKS_H_

#include <cstdint>
#include <span>

namespace dtnn {

struct PngChunks {
  std::span<const uint8_t> exif = {};  // of the first eXIf chunk whose checksum is right
  // The bytes up to the end of the last whole chunk, where no end is marked behind the image's
  // data: nothing of the picture is missing. 0 where the end is marked, or data are cut off.
  uint64_t unmarked_end = 0;
};

// The chunks of a file that begins with PNG's signature.
PngChunks LookAtPngChunks(std::span<const uint8_t> bytes);

}  // namespace dtnn

#endif  // DTNN_DATA_IMAGES_PNG_CHUNKS_H_
