// A mask as the file that predict writes: a PNG with the palette of PASCAL VOC, and a text in it by
// which it is known from masks of others, such as those that somebody has drawn.

#ifndef DTNN_APPS_PREDICT_MASK_FILE_H_
#define DTNN_APPS_PREDICT_MASK_FILE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "data/images/image.h"

namespace dtnn {

// `mask`: an image of one channel. Errors are those of EncodePng.
absl::StatusOr<std::vector<uint8_t>> EncodeMask(const Image& mask);

// Whether a file that begins so is one of those (output_file.h).
bool IsOwnMask(std::string_view start);

}  // namespace dtnn

#endif  // DTNN_APPS_PREDICT_MASK_FILE_H_
