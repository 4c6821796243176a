// Lists of transforms written as text: "flip,pad_crop:4,cutout:8", each with its parameters, of
// which the last ones may be left out.

#ifndef DTNN_DATA_TRANSFORMS_TRANSFORM_LIST_H_
#define DTNN_DATA_TRANSFORMS_TRANSFORM_LIST_H_

#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "data/transforms/transform.h"

namespace dtnn {

// Those that can be written so.
std::span<const TransformKind* const> TransformKinds();

// InvalidArgument for a name that is not known, too many parameters, and one that is not in its
// range.
absl::StatusOr<TransformList> ParseTransforms(std::string_view text);

}  // namespace dtnn

#endif  // DTNN_DATA_TRANSFORMS_TRANSFORM_LIST_H_
