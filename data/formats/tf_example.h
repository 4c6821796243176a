// An image and its class out of a TensorFlow Example (a protocol buffer, tf_example.proto) as the
// preprocessed files of ImageNet hold them: features "image/encoded", one text of bytes, and
// "image/class/label", one integer.

#ifndef DTNN_DATA_FORMATS_TF_EXAMPLE_H_
#define DTNN_DATA_FORMATS_TF_EXAMPLE_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

struct LabelledImage {
  std::vector<uint8_t> encoded;
  int64_t label = 0;
};

// `name` begins every message. InvalidArgument for bytes that are not an Example, and for one
// without these features.
absl::StatusOr<LabelledImage> ParseImageExample(std::span<const uint8_t> bytes,
                                                std::string_view name);

}  // namespace dtnn

#endif  // DTNN_DATA_FORMATS_TF_EXAMPLE_H_
