// Numbers that are computed when a model is imported: shapes, the places of elements in a batch,
// whose size is not known, and what follows from these.

#ifndef DTNN_MODELS_ONNX_SHAPES_NUMBERS_H_
#define DTNN_MODELS_ONNX_SHAPES_NUMBERS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "models/onnx/file/tensor_values.h"

namespace dtnn {

// A number in a shape has at most 40 bits, a result at most so many elements.
inline constexpr int64_t kMostNumber = int64_t{1} << 40;
inline constexpr int64_t kMostNumbers = int64_t{1} << 22;

// A constant; or, with a `step` other than 0, numbers of each sample, of which `first` are those of
// the first: the first of their axes, of extent 1 there, is the batch.
struct WholeNumbers {
  TensorValues first;
  int64_t step = 0;  // from a sample's numbers to those of the next
};

// "Add", "Sub", "Mul", "Div", "Mod" or "Equal" (0 or 1) of a and b, with the axes of both aligned
// at their ends, and of real numbers "Pow" too. InvalidArgument for axes that do not fit and for
// whole numbers that are not up to kMostNumber; Unimplemented with BatchExtent (axes.h) but for
// multiples of it, for numbers that are not a multiple of the sample plus a constant, and for both
// kinds at once.
absl::StatusOr<WholeNumbers> Arithmetic(std::string_view type, const WholeNumbers &a,
                                        const WholeNumbers &b);

// start, start + step, ... below `limit`, which may be kBatchExtent.
absl::StatusOr<WholeNumbers> RangeOf(int64_t start, int64_t limit, int64_t step);

}  // namespace dtnn

#endif  // DTNN_MODELS_ONNX_SHAPES_NUMBERS_H_
